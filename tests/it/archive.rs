//! Zips: what is read from them, and the reason for each entry that is not. CASES 4.02 and 4.05.

use std::collections::BTreeMap;

use maitred::domain::limits::{
    ARCHIVE_BYTES_MAX, ARCHIVE_ENTRIES_MAX, ARCHIVE_INFLATED_BYTES_MAX, FILE_BYTES_MAX,
};
use maitred::domain::slug::Slug;
use maitred::format::archive;
use maitred::format::archive::Archive;
use maitred::format::scan::overrides::Overrides;

use crate::zipped::{Item, STORED, skill, zip};

/// One line an entry, and the counts.
fn outcome(archive: &Archive) -> Vec<String> {
    let mut lines: Vec<String> = archive
        .entries
        .iter()
        .map(|entry| {
            let parsed = entry.admit(&Overrides::default());
            let name = entry.name.escape_debug();
            match (&parsed.playbook, parsed.refusal()) {
                (Some(playbook), _) => format!("{name}: {}", playbook.slug()),
                (None, refusal) => format!("{name}: refused: {}", refusal.unwrap().message),
            }
        })
        .collect();
    lines.push(format!("junk {} other {}", archive.junk_count, archive.other_count));
    lines
}

/// Checks that the outcome of these entries has a line with each of `wanted`, and as many lines beside the counts.
#[track_caller]
fn check(items: &[Item], wanted: &[&str]) {
    let lines = outcome(&archive::read(&zip(items)).unwrap());
    for part in wanted {
        assert!(lines.iter().any(|line| line.contains(part)), "{part:?} is not in {lines:#?}");
    }
    let said = wanted.iter().filter(|part| !part.starts_with("junk")).count();
    assert_eq!(lines.len() - 1, said, "{lines:#?}");
}

#[test]
fn an_entry_is_refused_whole_and_takes_no_other_down() {
    let good = || Item::skill("good", "good");
    for (item, wanted) in [
        (Item::new("../evil/SKILL.md", skill("evil")), "leads out of the archive"),
        (Item::new("a/../../evil/SKILL.md", skill("evil")), "leads out of the archive"),
        (Item::new("a\\..\\..\\x/SKILL.md", skill("evil")), "backslash"),
        (Item::new("C:/x/SKILL.md", skill("evil")), "drive letter"),
        (Item::new("/etc/SKILL.md", skill("evil")), "absolute path"),
        (Item::new("a\0b/SKILL.md", skill("evil")), "NUL"),
        (Item::new("a\x1b[2J/SKILL.md", skill("evil")), "control character"),
        (Item::new("a//SKILL.md", skill("evil")), "empty part"),
        (Item::new("../notes.txt", "x"), "leads out of the archive"),
        (Item::new("../", ""), "leads out of the archive"),
        (Item { mode: 0o120_777, ..Item::new("link/SKILL.md", "../../secret") }, "symbolic link"),
        (Item { mode: 0o120_777, ..Item::new("link", "/etc") }, "symbolic link"),
        (Item { mode: 0o020_666, ..Item::new("device", "") }, "neither a file nor a directory"),
        (Item { mode: 0o040_755, ..Item::new("a/SKILL.md/", "") }, "this SKILL.md is a directory"),
        (Item::new("a/skill.MD", skill("a")), "this file is named skill.MD"),
        (Item { flags: 1, ..Item::skill("locked", "locked") }, "it is encrypted"),
        (Item { method: 12, ..Item::skill("packed", "packed") }, "compression method"),
        (
            Item { local_name: Some(b"b/SKILL.md".to_vec()), ..Item::skill("a", "a") },
            "another name in front of its content",
        ),
        (Item { claimed: Some(7), method: STORED, ..Item::skill("a", "a") }, ""),
        (Item::new("bad/SKILL.md", "---\nname: Bad\n"), "never closed"),
        (Item::new("bad/SKILL.md", b"---\nname: b\xff"), "not UTF-8 at byte 11"),
        (Item::new("empty/SKILL.md", ""), "there is no frontmatter"),
    ] {
        let name = String::from_utf8_lossy(&item.name).into_owned();
        let lines = outcome(&archive::read(&zip(&[item, good()])).unwrap());
        assert_eq!(lines.len(), 3, "{name:?}: {lines:#?}");
        assert!(lines[0].contains("refused: ") && lines[0].contains(wanted), "{name:?}: {lines:#?}");
        assert_eq!(lines[1], "good/SKILL.md: good", "{name:?}: {lines:#?}");
    }
}

#[test]
fn twins_are_a_conflict_for_both() {
    let same = "unpacked to the same place as";
    for (first, second) in [
        ("a/SKILL.md", "a/SKILL.md"),
        ("A/SKILL.md", "a/SKILL.md"),
        ("a/SKILL.md", "a./SKILL.md"),
        ("cafe\u{301}/SKILL.md", "caf\u{e9}/SKILL.md"),
    ] {
        let items = [Item::new(first, skill("a")), Item::new(second, skill("a")), Item::skill("b", "b")];
        let lines = outcome(&archive::read(&zip(&items)).unwrap());
        assert!(lines[0].contains(same) && lines[1].contains(same), "{lines:#?}");
        assert_eq!(lines[2], "b/SKILL.md: b");
    }
    // A file where another needs a directory.
    check(&[Item::new("a", "x"), Item::skill("a", "a")], &["a/SKILL.md: refused: it would be unpacked to"]);
    check(&[Item::new("a/notes.md", "x"), Item::new("a/NOTES.md", "y")], &[same, "a/NOTES.md: refused"]);
}

#[test]
fn junk_is_counted_and_resources_belong_to_their_skill() {
    check(
        &[
            Item::new("a/", ""),
            Item::skill("a", "a"),
            Item::new("a/scripts/run.sh", "x"),
            Item::new("a/references/deep/x.md", "x"),
            Item::new("README.md", "x"),
            Item::new("__MACOSX/a/SKILL.md", skill("a")),
            Item::new("a/._SKILL.md", "x"),
            Item::new("a/.DS_Store", "x"),
            Item::new("./c/SKILL.md", skill("c")),
            Item::new("SKILL.md", skill("top")),
        ],
        &["a/SKILL.md: a", "c/SKILL.md: c", "SKILL.md: top", "junk 3 other 3"],
    );
    let items = [Item::skill("other", "a"), Item::new("other/scripts/run.sh", "x")];
    let said = archive::read(&zip(&items)).unwrap().entries[0].admit(&Overrides::default()).diagnostics;
    let said: Vec<&str> = said.iter().map(|said| said.message.as_str()).collect();
    assert_eq!(said[0], "the folder \"other\" is not called like the skill, \"a\"");
    assert!(said[1].starts_with("1 files in scripts, references or assets are not served"), "{said:?}");
}

#[test]
fn sizes_are_bounded_while_inflating() {
    let sized = |bytes: usize| {
        let head = "---\nname: a\ndescription: b\n# ";
        let tail = "\n---\nBody\n";
        let filler: String = (0..bytes - head.len() - tail.len())
            .map(|at| char::from(b'a' + u8::try_from(at * at % 23).unwrap()))
            .collect();
        format!("{head}{filler}{tail}")
    };
    for (bytes, wanted) in [
        (FILE_BYTES_MAX - 1, "a/SKILL.md: a"),
        (FILE_BYTES_MAX, "a/SKILL.md: a"),
        (FILE_BYTES_MAX + 1, "it has more than 65536 bytes"),
    ] {
        let content = sized(bytes);
        assert_eq!(content.len(), bytes);
        let item = Item { method: STORED, ..Item::new("a/SKILL.md", content) };
        check(&[item, Item::skill("b", "b")], &[wanted, "b/SKILL.md: b"]);
    }
    // A bomb, and one whose headers say that it is small.
    let bomb = || Item::new("a/SKILL.md", vec![b'\n'; 32 * 1024 * 1024]);
    check(&[bomb(), Item::skill("b", "b")], &["more than 65536 bytes", "b/SKILL.md: b"]);
    let lines = outcome(&archive::read(&zip(&[Item { claimed: Some(100), ..bomb() }])).unwrap());
    assert!(lines[0].contains("refused"), "{lines:?}");
    // Padding within the limit of a file.
    let padded = format!("{}{}", skill("a"), "\n".repeat(40_000));
    check(&[Item::new("a/SKILL.md", &padded)], &["more than 200 times as many"]);
    check(&[Item { method: STORED, ..Item::new("a/SKILL.md", padded) }], &["a/SKILL.md: a"]);
    // Other entries are not inflated at all.
    check(&[Item::new("big.bin", vec![0; 16 * 1024 * 1024]), Item::skill("b", "b")], &["b/SKILL.md: b"]);
}

#[test]
fn the_skills_of_an_archive_are_bounded_together() {
    let body: String = (0..FILE_BYTES_MAX - 200).map(|at| if at % 40 == 39 { '\n' } else { 'x' }).collect();
    let count = ARCHIVE_INFLATED_BYTES_MAX / FILE_BYTES_MAX + 20;
    // All packed alike, which the writer of the tests does once an entry: few bytes, and one name each.
    let items: Vec<Item> = (0..count)
        .map(|number| Item::new(format!("p{number}/SKILL.md"), format!("{number}\n{body}{number}")))
        .collect();
    let archive = archive::read(&zip(&items)).unwrap();
    let last = archive.entries.last().unwrap().content.as_ref().unwrap_err();
    assert!(last.message.contains("have more than 134217728 bytes together"), "{last}");
}

#[test]
fn what_is_no_archive_or_too_large_a_one_is_refused_with_the_limit() {
    let refusal = |bytes: &[u8]| archive::read(bytes).unwrap_err().to_string();
    assert!(refusal(b"").contains("the archive cannot be read"));
    assert!(refusal(b"PK\x03\x04 and nothing more").contains("its end is missing"));
    assert!(refusal(b"no zip").contains("name a zip, a SKILL.md or a directory"));
    let whole = zip(&[Item::skill("a", "a")]);
    for cut in 0..whole.len() {
        assert!(archive::read(&whole[..cut]).is_err(), "cut at {cut}");
    }
    let message = refusal(&vec![0; ARCHIVE_BYTES_MAX + 1]);
    assert!(message.contains("the archive has 67108865 bytes, the limit is 67108864"), "{message}");
    let many: Vec<Item> = (0..=ARCHIVE_ENTRIES_MAX).map(|n| Item::new(format!("{n}.txt"), "")).collect();
    assert!(refusal(&zip(&many)).contains("the archive has 10001 entries, the limit is 10000"));
    assert!(archive::read(&zip(&many[1..])).is_ok());
    assert!(archive::read(&zip(&[])).unwrap().entries.is_empty());
}

#[test]
fn what_is_written_is_read_again() {
    let skills: BTreeMap<Slug, String> =
        ["b", "a", "c-1"].iter().map(|name| (Slug::parse(name).unwrap(), skill(name))).collect();
    let bytes = archive::write(&skills);
    let lines = outcome(&archive::read(&bytes).unwrap());
    assert_eq!(lines, ["a/SKILL.md: a", "b/SKILL.md: b", "c-1/SKILL.md: c-1", "junk 0 other 0"]);
    assert_eq!(bytes, archive::write(&skills));
    assert!(archive::read(&archive::write(&BTreeMap::new())).unwrap().entries.is_empty());
}
