//! The library: curated packs, built into the binary.

use std::sync::Arc;

use crate::domain::playbook::Playbook;
use crate::format::pack::PackManifest;
use crate::format::parse::parse;

/// The files of `library/`: paths below it, in order, and their bytes.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// A pack with its playbooks.
#[derive(Clone, Debug)]
pub struct Pack {
    /// What it says about itself.
    pub manifest: PackManifest,
    /// Its playbooks, in slug order.
    pub playbooks: Vec<Arc<Playbook>>,
}

/// The packs that are built in, in the order of their ids.
///
/// # Panics
/// When a file of the library is not valid; the tests load it whole.
#[must_use]
pub fn library() -> Vec<Pack> {
    let manifests = FILES.iter().filter_map(|(path, bytes)| Some((path.strip_suffix("/pack.toml")?, *bytes)));
    manifests
        .map(|(folder, bytes)| {
            let text = std::str::from_utf8(bytes).expect("pack.toml is UTF-8");
            let manifest = PackManifest::parse(text).expect("pack.toml is valid");
            Pack { manifest, playbooks: playbooks_of(folder) }
        })
        .collect()
}

fn playbooks_of(folder: &str) -> Vec<Arc<Playbook>> {
    let in_folder = |path: &str| path.starts_with(&format!("{folder}/")) && path.ends_with("/SKILL.md");
    FILES
        .iter()
        .filter(|(path, _)| in_folder(path))
        .map(|(path, bytes)| {
            // What is built in was scanned by the test below, and cannot change; the scan would take a start its time.
            let parsed = parse(bytes);
            let refusal = parsed.refusal().map(ToString::to_string);
            Arc::new(parsed.playbook.unwrap_or_else(|| panic!("library/{path}: {refusal:?}")))
        })
        .collect()
}

/// The playbooks that the agent `default` starts with.
#[must_use]
pub fn starter_playbooks() -> Vec<Arc<Playbook>> {
    library().into_iter().filter(|pack| pack.manifest.starter).flat_map(|pack| pack.playbooks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::gate::admit;
    use crate::format::scan::overrides::Overrides;
    use std::collections::HashSet;

    #[test]
    fn the_library_is_whole_and_clean() {
        let packs = library();
        let playbooks: Vec<_> = packs.iter().flat_map(|pack| &pack.playbooks).collect();
        assert!(
            packs.len() >= 6 && playbooks.len() == 30,
            "{} packs, {} playbooks",
            packs.len(),
            playbooks.len()
        );
        assert_eq!(starter_playbooks().len(), 12);
        let slugs: HashSet<_> = playbooks.iter().map(|playbook| playbook.slug()).collect();
        assert_eq!(slugs.len(), 30, "a slug is used twice");
        for (path, bytes) in FILES.iter().filter(|(path, _)| path.ends_with("SKILL.md")) {
            let said = admit(bytes, &Overrides::default()).diagnostics;
            assert!(said.is_empty(), "{path}: {said:?}");
        }
        for playbook in playbooks {
            assert!(!playbook.triggers().is_empty(), "{} has no triggers", playbook.slug());
        }
    }
}
