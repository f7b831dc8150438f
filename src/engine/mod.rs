//! The data plane: an immutable index, and the selection that reads it. No I/O, no async, no logging.

pub mod publish;
pub mod snapshot;
pub mod stopwatch;

pub mod builder;
pub mod calibrate;
pub mod calibration;
pub mod select;

pub mod content;
pub mod embed;
mod judge;
pub mod lexical;
pub mod nearest;
pub mod numbers;
pub mod ord;
pub mod relevance;
pub mod scratch;
pub mod terms;
pub mod trigger;
pub mod window;
