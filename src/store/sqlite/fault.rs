//! What SQLite says of a failure, as the port has it.

use sqlx::Error;

use crate::app::ports::store::{Fault, StoreError};

/// SQLite's primary result codes.
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const NOT_A_DATABASE: i32 = 26;

/// The port's error for one of the database.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn failed(error: Error) -> StoreError {
    let fault = match code(&error) {
        Some(FULL) => Fault::Full,
        Some(CORRUPT | NOT_A_DATABASE) => Fault::Damaged,
        _ if matches!(error, Error::Decode(_) | Error::ColumnDecode { .. }) => Fault::Damaged,
        _ => Fault::Unavailable,
    };
    StoreError { fault, message: format!("the database: {error}") }
}

/// What is kept is not what was written.
pub(super) fn damaged(what: impl Into<String>) -> StoreError {
    StoreError { fault: Fault::Damaged, message: format!("the database holds {}", what.into()) }
}

fn code(error: &Error) -> Option<i32> {
    let extended: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}
