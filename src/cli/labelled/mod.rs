//! Labelled turns: how they are read, and what selection makes of them. `eval` reports it, `calibrate` fits to it.

pub(super) mod data;
pub(super) mod measure;
