//! Any text as a SKILL.md: no panic; findings in order, inside the file and safe to print; the same answer again; and what the file says
//! of itself does not lower what is found in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maitred::format::parse::parse;
use maitred::format::scan::scan;

fuzz_target!(|bytes: &[u8]| {
    let parsed = parse(bytes);
    let found = scan(bytes, parsed.playbook.as_ref());
    assert_eq!(found, scan(bytes, parsed.playbook.as_ref()));
    let lines = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
    for pair in found.findings.windows(2) {
        assert!(pair[0].line <= pair[1].line, "{pair:?}");
    }
    for finding in &found.findings {
        assert!(finding.line >= 1 && finding.line <= lines && finding.column >= 1, "{finding:?}");
        assert!(finding.excerpt.chars().count() <= 160, "{finding:?}");
        assert!(!finding.excerpt.chars().any(char::is_control), "{finding:?}");
    }
});
