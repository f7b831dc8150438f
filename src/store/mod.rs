//! Where playbooks and models come from.

pub mod directory;
pub mod model;
pub mod sqlite;
