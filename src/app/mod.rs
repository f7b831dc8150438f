//! The use cases. Owns the ports; knows neither gRPC nor the command line.

pub mod error;
pub mod ports;

pub mod admit;
pub mod auth;
pub mod catalog;
pub mod lane;
pub mod lint;
pub mod observe;
pub mod offer;
pub mod owner;
pub mod packs;
pub mod read;
pub mod report;
pub mod token;
pub mod turns;
pub mod usage;
