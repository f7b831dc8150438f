//! Texts and playbooks to measure with.

use std::sync::Arc;

use maitred::app::packs;
use maitred::domain::playbook::{Playbook, PlaybookParts};
use maitred::domain::slug::Slug;

/// Texts made of the library's words, the same each time.
pub(crate) struct Words {
    words: Vec<String>,
    state: u64,
}

impl Words {
    pub(crate) fn new(seed: u64) -> Self {
        let bodies = packs::library().into_iter().flat_map(|pack| pack.playbooks);
        let mut words: Vec<String> = bodies
            .flat_map(|playbook| {
                let text = format!("{} {}", playbook.description(), playbook.body());
                text.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase).collect::<Vec<_>>()
            })
            .filter(|word| word.len() > 2)
            .collect();
        words.sort();
        words.dedup();
        Self { words, state: seed * 0x9E37_79B9 + 1 }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % bound as u64).expect("less than a length")
    }

    /// So many words, from one part of the vocabulary, as texts have a subject.
    pub(crate) fn text(&mut self, count: usize) -> String {
        let subject = self.below(self.words.len());
        let mut text = String::new();
        for at in 0..count {
            let word = if at % 2 == 0 { subject + self.below(40) } else { self.below(self.words.len()) };
            text.push_str(&self.words[word % self.words.len()]);
            text.push(' ');
        }
        text.trim_end().to_owned()
    }

    pub(crate) fn playbook(&mut self, at: usize) -> Arc<Playbook> {
        let slug = Slug::parse(&format!("playbook-{at}")).expect("a valid name");
        let parts = PlaybookParts {
            title: Some(self.text(3)),
            body: self.text(300),
            ..PlaybookParts::new(slug, self.text(24))
        };
        Arc::new(Playbook::new(parts).expect("within the limits"))
    }
}
