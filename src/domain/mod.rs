//! Values that are valid by construction. Pure: no I/O, no async, no logging.

pub mod limits;
pub mod text;
pub mod words;

pub mod agent;
pub mod digest;
pub mod menu;
pub mod playbook;
pub mod query;
pub mod record;
pub mod revision;
pub mod slug;
pub mod stage;
