//! Any bytes as a SKILL.md: no panic; a refusal exactly where there is no playbook; what is read can be written and is read
//! again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maitred::format::export::{ExportError, skill_md};
use maitred::format::parse::parse;

fuzz_target!(|bytes: &[u8]| {
    let parsed = parse(bytes);
    assert_eq!(parsed.playbook.is_none(), parsed.refusal().is_some());
    for diagnostic in &parsed.diagnostics {
        assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
        assert!(!diagnostic.message.chars().any(char::is_control), "{diagnostic}");
    }
    let Some(playbook) = parsed.playbook else { return };
    match skill_md(&playbook) {
        Ok(text) => assert_eq!(parse(text.as_bytes()).playbook, Some(playbook)),
        Err(ExportError::TooLarge { .. }) => {}
        Err(error) => panic!("{error}"),
    }
});
