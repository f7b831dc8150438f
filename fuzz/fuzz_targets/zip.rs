//! Any bytes as a zip: no panic, no more than the limits, each entry a file of a skill or a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maitred::domain::limits::{ARCHIVE_ENTRIES_MAX, FILE_BYTES_MAX};
use maitred::format::archive;

fuzz_target!(|bytes: &[u8]| {
    let Ok(archive) = archive::read(bytes) else { return };
    assert!(archive.entries.len() <= ARCHIVE_ENTRIES_MAX);
    for entry in &archive.entries {
        if let Ok(content) = &entry.content {
            assert!(content.len() <= FILE_BYTES_MAX);
            assert!(!entry.name.contains("..") || !entry.name.split('/').any(|part| part == ".."));
            assert!(!entry.name.starts_with('/') && !entry.name.contains(['\\', '\0']));
        }
        let parsed = entry.admit(&maitred::format::scan::overrides::Overrides::default());
        assert_eq!(parsed.playbook.is_none(), parsed.refusal().is_some());
    }
});
