//! The doors: gRPC, and HTTP beside it. Thin adapters over the application and its error table.

pub mod connection;
pub mod grpc;
pub mod http;
