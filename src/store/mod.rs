//! Where playbooks come from.

pub mod directory;
