//! The `maitred` binary: parse, run, exit code.

fn main() -> std::process::ExitCode {
    maitred::cli::run()
}
