//! Loops over the numbers of vectors, each with the widest instructions that the processor has: a build for every x86-64
//! would otherwise multiply four numbers at a time on machines that multiply sixteen.
//!
//! **Invariants**: equal input gives equal bits on every processor: each sum is kept in sixteen parts that are added in
//! one order, and no multiplication is fused with an addition.

use pulp::{Arch, NullaryFnOnce};

/// Parts of a sum.
const LANES: usize = 16;

/// The inner product: the cosine of two unit vectors.
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    debug_assert_eq!(a.len(), b.len());
    Arch::new().dispatch(Dot { a, b })
}

/// Adds a vector to a sum, `weight` times.
pub fn add_weighted(sum: &mut [f32], weight: f32, vector: &[f32]) {
    debug_assert_eq!(sum.len(), vector.len());
    Arch::new().dispatch(Add { sum, weight, vector: vector.iter().copied() });
}

/// Adds a vector of bytes to a sum, `weight` times.
pub fn add_weighted_bytes(sum: &mut [f32], weight: f32, vector: &[u8]) {
    debug_assert_eq!(sum.len(), vector.len());
    Arch::new().dispatch(Add {
        sum,
        weight,
        vector: vector.iter().map(|byte| f32::from(byte.cast_signed())),
    });
}

/// The inner products of one vector of integers and each row of a table, as many as `products` has places.
pub fn dot_rows(vector: &[i16], rows: &[i8], products: &mut [i32]) {
    debug_assert_eq!(rows.len(), vector.len() * products.len());
    Arch::new().dispatch(DotRows { vector, rows, products });
}

struct Dot<'a> {
    a: &'a [f32],
    b: &'a [f32],
}

impl NullaryFnOnce for Dot<'_> {
    type Output = f32;

    #[expect(clippy::inline_always, reason = "else it is compiled once, for the least processor")]
    #[inline(always)]
    fn call(self) -> f32 {
        let mut lanes = [0.0_f32; LANES];
        let (a_chunks, a_rest) = self.a.as_chunks::<LANES>();
        let (b_chunks, b_rest) = self.b.as_chunks::<LANES>();
        for (x, y) in a_chunks.iter().zip(b_chunks) {
            for lane in 0..LANES {
                lanes[lane] += x[lane] * y[lane];
            }
        }
        let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
        lanes.iter().sum::<f32>() + rest
    }
}

struct Add<'a, V> {
    sum: &'a mut [f32],
    weight: f32,
    vector: V,
}

impl<V: Iterator<Item = f32>> NullaryFnOnce for Add<'_, V> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "else it is compiled once, for the least processor")]
    #[inline(always)]
    fn call(self) {
        for (sum, x) in self.sum.iter_mut().zip(self.vector) {
            *sum += self.weight * x;
        }
    }
}

struct DotRows<'a> {
    vector: &'a [i16],
    rows: &'a [i8],
    products: &'a mut [i32],
}

impl NullaryFnOnce for DotRows<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "else it is compiled once, for the least processor")]
    #[inline(always)]
    fn call(self) {
        for (product, row) in self.products.iter_mut().zip(self.rows.chunks_exact(self.vector.len())) {
            *product =
                row.iter().zip(self.vector).map(|(x, y)| i32::from(i16::from(*x)) * i32::from(*y)).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(seed: u32, count: usize) -> impl Iterator<Item = i16> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::try_from(state >> 24).expect("eight bits") - 128
        })
        .take(count)
    }

    #[test]
    fn the_inner_product_is_that_of_the_textbook() {
        for count in [0, 1, 15, 16, 37, 256] {
            let a: Vec<f32> = numbers(1, count).map(|x| f32::from(x) / 7.0).collect();
            let b: Vec<f32> = numbers(2, count).map(|x| 1.0 - f32::from(x) / 11.0).collect();
            let textbook: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            let size: f64 = a.iter().zip(&b).map(|(x, y)| (f64::from(*x) * f64::from(*y)).abs()).sum();
            assert!((f64::from(dot(&a, &b)) - textbook).abs() <= 1e-6 * size, "{count}");
        }
    }

    #[test]
    fn the_widest_instructions_give_the_bits_of_the_plain_loop() {
        let a: Vec<f32> = numbers(3, 205).map(|x| f32::from(x) / 7.0).collect();
        let b: Vec<f32> = numbers(4, 205).map(|x| f32::from(x) / 13.0).collect();
        assert_eq!(dot(&a, &b).to_bits(), Dot { a: &a, b: &b }.call().to_bits());
        let mut wide = a.clone();
        add_weighted(&mut wide, 0.3, &b);
        let plain: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + 0.3 * b).collect();
        assert_eq!(wide, plain);
    }

    #[test]
    fn products_with_rows_are_exact() {
        let vector: Vec<i16> = numbers(5, 37).collect();
        let rows: Vec<i8> = numbers(6, 37 * 9).map(|x| i8::try_from(x).expect("it fits")).collect();
        let mut products = vec![0; 9];
        dot_rows(&vector, &rows, &mut products);
        for (product, row) in products.iter().zip(rows.chunks(37)) {
            let own: i32 = row.iter().zip(&vector).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum();
            assert_eq!(*product, own);
        }
    }
}
