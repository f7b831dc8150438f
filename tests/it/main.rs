//! One integration binary: what a user sees, part by part.

#![expect(clippy::unwrap_used, reason = "what cannot be made in a test is a failed test")]

mod fixture;
mod harness;
mod raw;
mod wire;
mod zipped;

mod allocations;
mod archive;
mod cases;
mod cli;
mod cli_check;
mod cli_model;
mod drain;
mod embed;
mod export;
mod grpc;
mod hostile;
mod http;
mod limits;
mod lint;
mod load;
mod menu;
mod models;
mod offer;
mod owner;
mod parse;
mod props;
mod quality;
mod scan;
mod selection_cases;
mod semantic;
mod smoke;
mod swap;
mod tidy;
mod vectors;
mod watch;
