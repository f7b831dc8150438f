//! Zip archives of skills: what one holds, and how one is written.
//!
//! **Invariants**: nothing is ever unpacked to a path; an archive is read for its `SKILL.md` entries, and each of them goes
//! through the one parser; what is written is byte-equal for equal skills.

mod name;
mod read;
mod write;

pub use self::read::{Archive, Entry, is_zip, read};
pub use self::write::write;
