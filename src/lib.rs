//! Maitred.

pub mod domain;

pub mod engine;
pub mod format;

pub mod app;
pub mod store;
pub mod transport;

pub mod cli;
pub mod config;
pub mod server;
pub mod telemetry;

pub mod compute;
