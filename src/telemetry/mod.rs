//! What an operator sees: logs and metrics.

pub mod log;
pub mod metrics;
