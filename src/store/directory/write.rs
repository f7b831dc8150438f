//! Puts a skill into a directory, beside what is there.
//!
//! **Invariants**: nothing that exists is changed or replaced; a `SKILL.md` is there whole or not at all; no symbolic link
//! is followed below the directory.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::domain::slug::Slug;
use crate::domain::text;
use crate::format::parse::SKILL_FILE;

/// Writes `<dir>/<slug>/SKILL.md` and says where it is.
///
/// # Errors
/// A sentence, when something of that name is there already or the system refuses.
pub fn put(dir: &Path, slug: &Slug, skill_md: &str) -> Result<PathBuf, String> {
    let folder = dir.join(slug.as_str());
    let fail = |path: &Path, error: &std::io::Error| format!("{}: {error}", text::escaped_path(path));
    let is_new = match DirBuilder::new().mode(0o755).create(&folder) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(fail(&folder, &error)),
    };
    // Not the metadata behind a link: what lies there is somebody else's.
    if !fs::symlink_metadata(&folder).map_err(|error| fail(&folder, &error))?.is_dir() {
        return Err(format!("{} exists and is not a directory", text::escaped_path(&folder)));
    }
    let path = folder.join(SKILL_FILE);
    let unfinished = folder.join(format!(".{SKILL_FILE}.{}", std::process::id()));
    let written = write_new(&unfinished, skill_md).and_then(|()| name(&unfinished, &path));
    written.map_err(|error| {
        // What is left of a failure is in nobody's way, so that a second one need not be told.
        let _ = fs::remove_file(&unfinished);
        if is_new {
            let _ = fs::remove_dir(&folder);
        }
        fail(&path, &error)
    })?;
    Ok(path)
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Gives the file its name, unless something has that name. A link and not a renaming, which would replace it.
fn name(unfinished: &Path, path: &Path) -> std::io::Result<()> {
    match fs::hard_link(unfinished, path) {
        Ok(()) => fs::remove_file(unfinished)?,
        // A file system without links.
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(ErrorKind::AlreadyExists.into());
            }
            fs::rename(unfinished, path)?;
        }
        Err(error) => return Err(error),
    }
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
