//! Zips made byte by byte, so that they can be anything.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// An entry as it is to be.
pub(crate) struct Item {
    pub(crate) name: Vec<u8>,
    /// The name in front of the content, where it is another.
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) content: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    /// The size that the headers claim, where it is another.
    pub(crate) claimed: Option<u32>,
}

pub(crate) const STORED: u16 = 0;
pub(crate) const DEFLATED: u16 = 8;

impl Item {
    pub(crate) fn new(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            local_name: None,
            content: content.as_ref().to_vec(),
            mode: 0o100_644,
            method: DEFLATED,
            flags: 0,
            claimed: None,
        }
    }

    /// A skill of this name in this folder.
    pub(crate) fn skill(folder: &str, name: &str) -> Self {
        Self::new(format!("{folder}/SKILL.md"), skill(name))
    }
}

/// A small, valid file.
pub(crate) fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Says what {name} does.\n---\nBody of {name}\n")
}

pub(crate) fn zip(items: &[Item]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for item in items {
        let start = u32::try_from(out.len()).unwrap();
        let packed = if item.method == DEFLATED {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&item.content).unwrap();
            encoder.finish().unwrap()
        } else {
            item.content.clone()
        };
        let mut crc = Crc::new();
        crc.update(&item.content);
        let size = item.claimed.unwrap_or(u32::try_from(item.content.len()).unwrap());
        let header = |name: &[u8]| {
            let mut header: Vec<u8> =
                [20, item.flags, item.method, 0, 33].iter().flat_map(|value| value.to_le_bytes()).collect();
            let sizes = [crc.sum(), u32::try_from(packed.len()).unwrap(), size];
            header.extend(sizes.iter().flat_map(|value| value.to_le_bytes()));
            header.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            header.extend([0, 0]);
            header
        };
        let local = item.local_name.as_ref().unwrap_or(&item.name);
        out.extend(b"PK\x03\x04");
        out.extend(header(local));
        out.extend(local);
        out.extend(&packed);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(header(&item.name));
        directory.extend([0; 6]);
        directory.extend((item.mode << 16).to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(&item.name);
    }
    let start = u32::try_from(out.len()).unwrap();
    let count = u16::try_from(items.len()).unwrap().to_le_bytes();
    let size = u32::try_from(directory.len()).unwrap();
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([count, count].concat());
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}
