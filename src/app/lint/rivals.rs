//! Playbooks that get in each other's way: those that their own description does not select, and those that can hardly be
//! told apart.
//!
//! **Cost**: a selection a playbook, and a cosine a pair of playbooks.

use super::ALIKE_COSINE;
use crate::domain::limits::TURN_BYTES_MAX;
use crate::domain::menu::MenuItem;
use crate::domain::playbook::Playbook;
use crate::domain::query::MenuQuery;
use crate::domain::slug::Slug;
use crate::domain::text::prefix_bytes;
use crate::engine::scratch::Scratch;
use crate::engine::select::select;
use crate::engine::snapshot::AgentIndex;

/// How many playbooks are named that come instead of one.
const INSTEAD_MAX: usize = 3;

/// Playbooks of which one is in the way of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rivals {
    /// The playbook's own description, as a turn, does not put it on the menu that callers get who name no limit.
    Outranked {
        /// Whose description it is.
        slug: Slug,
        /// What comes instead, best first; may be nothing.
        by: Vec<Slug>,
    },
    /// Two that say nearly the same.
    Alike(Slug, Slug),
}

/// All rivals among the playbooks of an index.
#[must_use]
pub fn rivals(index: &AgentIndex) -> Vec<Rivals> {
    let mut scratch = Scratch::default();
    let outranked = index.playbooks().filter_map(|playbook| {
        let by = outranked_by(index, playbook, &mut scratch)?;
        Some(Rivals::Outranked { slug: playbook.slug().clone(), by })
    });
    let alike = index.alike(ALIKE_COSINE).into_iter().map(|(one, other)| Rivals::Alike(one, other));
    outranked.chain(alike).collect()
}

/// What comes instead of a playbook when its own description is the turn; none when it comes itself, or when it is never
/// offered.
pub(super) fn outranked_by(
    index: &AgentIndex,
    playbook: &Playbook,
    scratch: &mut Scratch,
) -> Option<Vec<Slug>> {
    if playbook.parts().explicit {
        return None;
    }
    let turn = prefix_bytes(playbook.description(), TURN_BYTES_MAX);
    let menu = select(index, &MenuQuery::new(turn).ok()?, scratch);
    let stands =
        |item: &MenuItem| item.slug == *playbook.slug() || item.near_duplicates.contains(playbook.slug());
    let is_there = menu.items.iter().any(stands);
    (!is_there).then(|| menu.items.iter().map(|item| item.slug.clone()).take(INSTEAD_MAX).collect())
}

/// Names, as a sentence holds them.
#[must_use]
pub fn named(slugs: &[Slug]) -> String {
    if slugs.is_empty() {
        return "nothing".to_owned();
    }
    slugs.iter().map(Slug::as_str).collect::<Vec<_>>().join(", ")
}
