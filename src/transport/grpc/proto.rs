//! The messages and services of `proto/maitred/v1`, as generated.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::pedantic,
    reason = "generated code; the contract's own comments are its documentation"
)]

tonic::include_proto!("maitred.v1");

/// The contract as a descriptor set, imports and comments included: what reflection serves.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/maitred_descriptor.bin"));
