//! SKILL.md to domain and back: one parser for every way in, one exporter for every way out. Pure: bytes in, values and
//! notes out.

pub mod diagnostic;
pub mod parse;

pub mod archive;
pub mod export;
pub mod gate;
pub mod scan;

pub mod pack;

mod fences;
mod fields;
mod repair;
mod triggers;
mod yaml;
mod yaml_text;
