//! Which writing a model covers, and whether a text is in it.

use std::collections::BTreeMap;

use unicode_script::{Script, UnicodeScript as _};

/// Pieces of more than one letter that make a script covered. The vocabulary of the built-in model has 27,533 Latin
/// ones, and 8 of the next script.
const PIECES_MIN: usize = 500;

/// Single letters that do, for scripts whose letters are words or syllables. The built-in model has 488 of Han.
const LETTERS_MIN: usize = 2_000;

/// The scripts of a vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered(Vec<Script>);

impl Covered {
    /// The scripts that these pieces cover.
    #[must_use]
    pub fn by<'a>(pieces: impl Iterator<Item = &'a str>) -> Self {
        let mut counts: BTreeMap<&'static str, (Script, usize, usize)> = BTreeMap::new();
        for piece in pieces {
            let mut letters = piece.chars().filter(|c| c.is_alphabetic());
            let Some(first) = letters.next() else { continue };
            let script = first.script();
            let (_, pieces, singles) = counts.entry(script.full_name()).or_insert((script, 0, 0));
            *(if letters.next().is_some() { pieces } else { singles }) += 1;
        }
        let covered =
            counts.values().filter(|(_, pieces, singles)| *pieces >= PIECES_MIN || *singles >= LETTERS_MIN);
        Self(covered.map(|(script, ..)| *script).collect())
    }

    /// Whether at least half of the letters of a text are of covered scripts. Linear; a text without letters is.
    #[must_use]
    pub fn most_of(&self, text: &str) -> bool {
        let (mut inside, mut outside) = (0_usize, 0_usize);
        let latin = self.0.contains(&Script::Latin);
        for c in text.chars() {
            if c.is_ascii_alphabetic() {
                *(if latin { &mut inside } else { &mut outside }) += 1;
            } else if !c.is_ascii() && c.is_alphabetic() {
                match c.script() {
                    Script::Common | Script::Inherited | Script::Unknown => {}
                    script if self.0.contains(&script) => inside += 1,
                    _ => outside += 1,
                }
            }
        }
        outside <= inside
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|script| script.full_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_majority_of_letters_decides() {
        let latin = Covered(vec![Script::Latin]);
        for (text, wanted) in [
            ("fix the deployment", true),
            ("Überprüfe die Rechnung", true),
            ("12:30!", true),
            ("", true),
            ("用 kubernetes 部署", true),
            ("我想开发票", false),
            ("Проверь счёт", false),
        ] {
            assert_eq!(latin.most_of(text), wanted, "{text}");
        }
        assert!(!Covered::default().most_of("text"));
    }

    #[test]
    fn many_pieces_cover_a_script() {
        let words: Vec<String> = (0..PIECES_MIN).map(|i| format!("aб{i}")).collect();
        assert_eq!(Covered::by(words.iter().map(String::as_str)), Covered(vec![Script::Latin]));
        assert_eq!(Covered::by(words[1..].iter().map(String::as_str)), Covered::default());
        let letters: Vec<String> = ('\u{4E00}'..).take(LETTERS_MIN).map(String::from).collect();
        assert_eq!(Covered::by(letters.iter().map(String::as_str)), Covered(vec![Script::Han]));
    }
}
