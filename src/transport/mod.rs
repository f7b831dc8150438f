//! The doors: gRPC now, HTTP later. Thin adapters over the application and its error table.

pub mod grpc;
