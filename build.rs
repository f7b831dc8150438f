//! Generates the gRPC code from `proto/` (no protoc) and embeds the packs of `library/`.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const PROTO_FILES: [&str; 3] = ["maitred/v1/menu.proto", "maitred/v1/run.proto", "maitred/v1/acp.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=library");
    let out_dir = PathBuf::from(std::env::var("OUT_DIR")?);
    generate_grpc(&out_dir)?;
    embed_library(&out_dir)
}

fn generate_grpc(out_dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_source_info(true).include_imports(true).open_files(PROTO_FILES)?;
    fs::write(out_dir.join("maitred_descriptor.bin"), compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure().compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

/// Writes `library.rs`: a slice of (path below `library/`, bytes) in path order.
fn embed_library(out_dir: &Path) -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("library");
    let mut files = Vec::new();
    collect_files(&root, &mut files)?;
    files.sort();
    let mut source = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root)?.to_string_lossy().replace('\\', "/");
        writeln!(source, "    ({name:?}, include_bytes!({:?})),", file.display().to_string())?;
    }
    source.push_str("]\n");
    fs::write(out_dir.join("library.rs"), source)?;
    Ok(())
}

fn collect_files(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
