//! The best of many by a score, without sorting them.

use crate::engine::ord::PlaybookOrd;

/// Collects the `count` playbooks with the highest scores of all that it is offered; among equal ones the first by
/// ordinal. **Cost**: a comparison each, and now and then a pass over twice `count`.
#[derive(Debug, Default)]
pub struct Best {
    count: usize,
    /// The lowest score that can still be among the best.
    least: f32,
    kept: Vec<(f32, PlaybookOrd)>,
}

impl Best {
    /// Starts anew.
    pub fn begin(&mut self, count: usize) {
        self.count = count;
        self.least = f32::NEG_INFINITY;
        self.kept.clear();
    }

    /// One more.
    pub fn offer(&mut self, score: f32, ord: PlaybookOrd) {
        if score >= self.least {
            self.kept.push((score, ord));
            if self.kept.len() >= 2 * self.count {
                self.prune();
            }
        }
    }

    /// Appends the best, in no order.
    pub fn finish(&mut self, best: &mut Vec<PlaybookOrd>) {
        self.prune();
        best.extend(self.kept.iter().map(|(_, ord)| *ord));
    }

    fn prune(&mut self) {
        if self.kept.len() > self.count {
            let order =
                |a: &(f32, PlaybookOrd), b: &(f32, PlaybookOrd)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            let (_, last, _) = self.kept.select_nth_unstable_by(self.count.saturating_sub(1), order);
            self.least = last.0;
            self.kept.truncate(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_those_of_a_sort() {
        let mut best = Best::default();
        for count in [0, 1, 3, 40, 500] {
            let score = |at: u32| f32::from(u8::try_from(at * 7919 % 37).expect("below 37"));
            let mut sorted: Vec<u32> = (0..400).collect();
            sorted.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
            sorted.truncate(count);
            best.begin(count);
            (0..400).for_each(|at| best.offer(score(at), PlaybookOrd::new(at)));
            let mut found = Vec::new();
            best.finish(&mut found);
            let mut expected: Vec<_> = sorted.into_iter().map(PlaybookOrd::new).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{count}");
        }
    }
}
