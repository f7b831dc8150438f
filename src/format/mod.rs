//! SKILL.md to domain: one parser for every way in. Pure: bytes in, values and notes out.

pub mod diagnostic;
pub mod parse;

pub mod pack;

mod fences;
mod fields;
mod repair;
mod triggers;
mod yaml;
