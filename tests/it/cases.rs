//! `CASES.md`, groups 1 and 4: the rows that are not in the parser's own table (`parse.rs`), each with its number.

mod files;
mod parsing;
