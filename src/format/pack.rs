//! pack.toml: what a pack of the library says about itself.

use serde::Deserialize;

/// A pack's own words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackManifest {
    /// The pack's name, that of its folder.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it holds, on one line.
    pub summary: String,
    /// Its version, as in semantic versioning.
    pub version: String,
    /// Its licence, an SPDX expression.
    pub license: String,
    /// Whether the agent `default` of an empty store starts with it.
    #[serde(default)]
    pub starter: bool,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl PackManifest {
    /// Reads a pack.toml.
    ///
    /// # Errors
    /// What is wrong with it, with line and column.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}
