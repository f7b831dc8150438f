//! One integration binary: what a user sees, part by part.

mod parse;
