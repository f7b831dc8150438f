//! Writes a zip that is the same bytes today and tomorrow, here and elsewhere.
//!
//! By hand and not by the crate that reads them: it neither sets the flag of UTF-8 on ASCII names, which some unpackers
//! want to see, nor promises that its headers stay as they are. **Invariants**: entries in the order of their names; one
//! time for all (the first that a zip can say, without a time zone); mode 0644; one compression level; forward slashes.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::domain::limits::{ARCHIVE_ENTRIES_MAX, FILE_BYTES_MAX};
use crate::domain::slug::Slug;
use crate::format::parse::SKILL_FILE;

/// The version of the format that deflate needs: 2.0.
const VERSION: u16 = 20;

/// The system that modes are those of: Unix.
const MADE_BY: u16 = 3 << 8 | VERSION;

/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;

const DEFLATE: u16 = 8;

/// Midnight of the first of January 1980.
const TIME: u16 = 0;
const DATE: u16 = 1 << 5 | 1;

/// A regular file that its owner may write and everybody may read.
const MODE: u32 = 0o100_644 << 16;

/// 6 is what every tool takes; 9 takes longer and gains nothing at this size.
const LEVEL: u32 = 6;

// Every offset and size fits into the 32 bits that a zip without extensions has for it, every count into its 16.
const _: () = assert!(ARCHIVE_ENTRIES_MAX < u16::MAX as usize);
const _: () = assert!(ARCHIVE_ENTRIES_MAX * (2 * FILE_BYTES_MAX) < u32::MAX as usize);

/// An archive with `<slug>/SKILL.md` for each skill.
///
/// # Panics
/// When there are more than [`ARCHIVE_ENTRIES_MAX`] skills.
#[must_use]
pub fn write(skills: &BTreeMap<Slug, String>) -> Vec<u8> {
    assert!(skills.len() <= ARCHIVE_ENTRIES_MAX, "{} skills", skills.len());
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (slug, text) in skills {
        // A slug has no character that means anything in a path.
        let name = format!("{slug}/{SKILL_FILE}");
        let start = archive.len();
        let packed = deflate(text.as_bytes());
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        let mut shared = Vec::new();
        put16(&mut shared, &[VERSION, FLAGS, DEFLATE, TIME, DATE]);
        put32(&mut shared, &[crc.sum(), size(packed.len()), size(text.len())]);
        // Name, and no extra field.
        put16(&mut shared, &[u16::try_from(name.len()).expect("a slug is short"), 0]);

        archive.extend(b"PK\x03\x04");
        archive.extend(&shared);
        archive.extend(name.as_bytes());
        archive.extend(&packed);

        directory.extend(b"PK\x01\x02");
        put16(&mut directory, &[MADE_BY]);
        directory.extend(&shared);
        // No comment, the first disk, nothing known of the content.
        put16(&mut directory, &[0, 0, 0]);
        put32(&mut directory, &[MODE, size(start)]);
        directory.extend(name.as_bytes());
    }
    let (start, count) = (archive.len(), u16::try_from(skills.len()).expect("it is asserted above"));
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06");
    put16(&mut archive, &[0, 0, count, count]);
    put32(&mut archive, &[size(directory.len()), size(start)]);
    put16(&mut archive, &[0]);
    archive
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes what is written to it")
}

fn size(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("it is asserted above that it fits")
}

fn put16(out: &mut Vec<u8>, values: &[u16]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn put32(out: &mut Vec<u8>, values: &[u32]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}
