//! The command line as a person uses it: output, exit codes, sentences.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::fixture::skill_md;
use crate::harness::write;

pub(crate) fn maitred(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_maitred"));
    command.args(args).stdin(Stdio::null()).env("XDG_DATA_HOME", data_of_nobody());
    command
}

/// A directory for data that no other command has, nor any user.
fn data_of_nobody() -> PathBuf {
    static COMMANDS: AtomicUsize = AtomicUsize::new(0);
    let number = COMMANDS.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("data-{}-{number}", std::process::id()))
}

pub(crate) fn run(args: &[&str]) -> Output {
    maitred(args).output().unwrap()
}

#[track_caller]
pub(crate) fn check(output: &Output, code: i32, stdout: &[&str], stderr: &[&str]) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    let missing =
        stdout.iter().find(|part| !out.contains(**part)).or(stderr.iter().find(|part| !err.contains(**part)));
    assert_eq!(missing, None, "{out}\n{err}");
}

pub(crate) fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn select_answers_without_a_server() {
    check(
        &run(&["select", "a customer wants their money back"]),
        0,
        &["refund-request", "trigger \"money back\""],
        &[],
    );
    check(&run(&["select", "what is the capital of Peru?"]), 0, &["No playbook fits this turn"], &[]);
    let answer = json(&run(&["select", "--json", "a customer wants their money back"]));
    assert_eq!(answer["items"][0]["slug"], "refund-request");
    assert_eq!(answer["items"][0]["reason"]["trigger"]["matched"][0], "money back");
    assert_eq!((&answer["runs"], &answer["revision"]), (&"not_asked".into(), &1.into()));
    let shaped =
        json(&run(&["select", "--json", "--tool-format", "anthropic", "a customer wants their money back"]));
    assert!(shaped["tool"]["definition_json"].as_str().unwrap().contains("\"input_schema\""));
    check(&run(&["select", "我想退款"]), 0, &["does not cover the turn's script"], &[]);
    check(&run(&["select", "--model", "/nowhere", "x"]), 2, &[], &["there is no model.safetensors"]);
    check(&run(&["select", ""]), 2, &[], &["maitred: text: the turn is empty"]);
    check(&run(&["select", "--limit", "7", "x"]), 2, &[], &["maitred: limit: the limit is 7"]);
    check(&run(&["select", "--skills", "/nowhere", "x"]), 2, &[], &["maitred: /nowhere: cannot be read"]);

    let mut child = maitred(&["select", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("write release notes".as_bytes()).unwrap();
    check(&child.wait_with_output().unwrap(), 0, &["release-notes"], &[]);
}

#[test]
fn select_over_a_directory_advises_once_and_names_refused_files() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    write(
        dir.path(),
        "tides",
        &skill_md("tides", "", "Reads tide tables for sailing boats in harbours.", "Read."),
    );
    write(dir.path(), "broken", "---\nname: broken\n");
    let always = run(&["select", "--skills", root, "lunch"]);
    check(
        &always,
        0,
        &["tides", "always on"],
        &["1 of 1 playbooks have no triggers", "--untriggered ranked"],
    );
    check(
        &always,
        0,
        &[],
        &["broken/SKILL.md:1:1: refused: the frontmatter opened at line 1 is never closed"],
    );
    let ranked = run(&["select", "--skills", root, "--untriggered", "ranked", "lunch"]);
    check(&ranked, 0, &["No playbook fits this turn"], &[]);
    assert!(!String::from_utf8_lossy(&ranked.stderr).contains("advice"));
}

#[test]
fn check_says_what_is_accepted_repaired_dropped_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "good", "---\nname: good\ndescription: Late: pay\nallowed-tools: Bash(*)\n---\nBody\n");
    let good = root.join("good");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let output = run(&["check", &path(&good)]);
    let file = path(&good.join("SKILL.md"));
    check(
        &output,
        0,
        &[
            &format!("{file}: accepted as good\n"),
            &format!(
                "{file}:3:14: warning: the value has an unquoted colon; read as \"Late: pay\"; put the value in"
            ),
            &format!("{file}:4:1: note: `allowed-tools` is dropped"),
            "1 file: 1 accepted (1 with warnings, 0 with notes only), 0 refused\n",
        ],
        &[],
    );
    write(root, "bad", "---\nname: Bad\ndescription: x\n---\nBody\n");
    fs::write(root.join("bad/SKILL.md.orig"), "not a skill").unwrap();
    let output = run(&["check", &path(root)]);
    check(&output, 1, &["bad/SKILL.md:2:7: refused: the name \"Bad\" contains \"B\"", "1 refused"], &[]);
    let report = json(&run(&["check", "--json", &path(root)]));
    assert_eq!((&report["summary"]["accepted"], &report["summary"]["refused"]), (&1.into(), &1.into()));
    assert_eq!(report["files"][0]["outcome"], "refused");
    assert_eq!(report["files"][0]["diagnostics"][0]["line"], 2);
    assert_eq!(report["files"][1]["slug"], "good");
    check(&run(&["check", "/nowhere"]), 2, &[], &["maitred: /nowhere: No such file or directory"]);
    check(&run(&["check", &path(tempfile::tempdir().unwrap().path())]), 2, &[], &[]);
}

/// A `maitred serve` and the address that it logs.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// The door of metrics.
    http: String,
    pub(crate) log: Vec<String>,
}

impl Served {
    fn start(args: &[&str]) -> Self {
        let command = [&["serve", "--log-format", "json", "--http", "127.0.0.1:0"], args].concat();
        let mut served = Self::spawn(maitred(&command));
        let mut log = BufReader::new(served.child.stderr.take().unwrap());
        served.await_log(&mut log, "serving");
        // From here on nobody reads the log: the server must not mind.
        served
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        Self { child, address: String::new(), http: String::new(), log: Vec::new() }
    }

    /// Reads the log up to an entry with this message; a server that is silent about it for a minute is ended.
    pub(crate) fn await_log(&mut self, log: &mut impl BufRead, message: &str) {
        let (_found, waiting) = mpsc::channel::<()>();
        let pid = self.child.id().to_string();
        thread::spawn(move || {
            if waiting.recv_timeout(Duration::from_mins(1)) == Err(RecvTimeoutError::Timeout) {
                Command::new("kill").args(["-KILL", &pid]).status().unwrap();
            }
        });
        for line in log.lines() {
            let line = line.unwrap();
            let entry: serde_json::Value = serde_json::from_str(&line)
                .unwrap_or_else(|fault| panic!("a log line is no JSON: {fault}: {line}"));
            self.log.push(line);
            if let Some(address) = entry["listen"].as_str() {
                address.clone_into(&mut self.address);
            }
            if let Some(http) = entry["http"].as_str() {
                http.clone_into(&mut self.http);
            }
            if entry["message"] == message {
                return;
            }
        }
        panic!("\"{message}\" was not logged: {:#?}", self.log);
    }

    pub(crate) fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

#[test]
fn client_and_server_over_a_port_and_a_clean_end() {
    let served = Served::start(&["--listen", "127.0.0.1:0"]);
    let address = served.address.as_str();
    let seeded = "an empty store: the agent begins with the starter packs";
    assert!(served.log.iter().any(|line| line.contains(seeded)), "{:?}", served.log);
    let table = run(&["client", "--server", address, "select", "write release notes"]);
    check(&table, 0, &["release-notes", "menu_token: "], &[]);
    let answer = json(&run(&[
        "client",
        "--server",
        address,
        "--run-id",
        "r",
        "--json",
        "select",
        "write release notes",
    ]));
    assert_eq!(answer["runs"], "unavailable");
    let token = answer["menu_token"].as_str().unwrap();
    let load = |slug: &str| {
        run(&["client", "--server", address, "--run-id", "r", "load", "--menu-token", token, slug])
    };
    check(&load("release-notes"), 0, &["# Release notes"], &[]);
    check(
        &load("invented"),
        2,
        &[],
        &["\"invented\" is not on the menu; it offers release-notes (NotFound, SLUG_NOT_ON_MENU)"],
    );
    let second = run(&["serve", "--listen", address]);
    check(&second, 2, &[], &["the port is in use; stop the other server or choose another port"]);
    let http = run(&["serve", "--listen", "127.0.0.1:0", "--http", address]);
    check(&http, 2, &[], &["the port is in use", "`--http off` does without metrics and probes"]);
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn a_server_of_few_file_descriptors_takes_fewer_connections_and_keeps_room_for_itself() {
    let (served, log) = serve_after("ulimit -Sn 100; ulimit -Hn 220");
    let warned = served.log.iter().find(|line| line.contains("fewer files than --max-connections 4096"));
    let warned: serde_json::Value = serde_json::from_str(warned.expect("it says so")).unwrap();
    assert_eq!((&warned["limit"], &warned["connections"]), (&220.into(), &74.into()));
    assert!(warned["message"].as_str().unwrap().contains("raise `ulimit -n` to 4288"), "{warned}");
    let mut crowd: Vec<_> = (0..120).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    for connection in &mut crowd {
        // Some are closed already.
        let _ = connection.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    }
    let mut metrics = TcpStream::connect(&served.http).unwrap();
    metrics.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    metrics.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    drop(crowd);
    // It may take a moment until the server has seen that they are gone.
    let is_answered = |_| {
        let answer = run(&["client", "--server", &served.address, "select", "write release notes"]);
        answer.status.success()
    };
    assert!((0..50).any(is_answered));
    assert_eq!(served.terminate(), Some(0));
    assert!(!log.lines().any(|line| line.unwrap().contains("cannot be accepted")));
}

/// A server that is started by a shell, after a command of the shell.
fn serve_after(command: &str) -> (Served, impl BufRead) {
    let serve = "exec \"$0\" serve --listen 127.0.0.1:0 --http 127.0.0.1:0 --log-format json";
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{command}; {serve}"), env!("CARGO_BIN_EXE_maitred")]);
    shell.stdin(Stdio::null()).env("XDG_DATA_HOME", data_of_nobody());
    let mut served = Served::spawn(shell);
    let mut log = BufReader::new(served.child.stderr.take().unwrap());
    served.await_log(&mut log, "serving");
    (served, log)
}

#[test]
fn a_server_without_file_descriptors_says_so_once_and_recovers() {
    let (mut served, mut log) = serve_after("ulimit -n 28");
    let idle: Vec<_> = (0..60).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    served.await_log(&mut log, "connections cannot be accepted; trying on");
    drop(idle);
    let answer = run(&["client", "--server", &served.address, "select", "write release notes"]);
    check(&answer, 0, &["release-notes"], &[]);
    assert_eq!(served.terminate(), Some(0));
    let complaints =
        log.lines().filter(|line| line.as_ref().is_ok_and(|line| line.contains("cannot be accepted")));
    assert_eq!(complaints.count(), 0);
}

#[test]
fn a_unix_socket_is_private_refuses_a_second_server_and_is_removed() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.sock");
    let listen = format!("unix:{}", path.display());
    // A socket that a crash left behind is not in the way.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let served = Served::start(&["--listen", &listen]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    check(
        &run(&["client", "--server", &listen, "select", "write release notes"]),
        0,
        &["release-notes"],
        &[],
    );
    check(&run(&["serve", "--listen", &listen]), 2, &[], &["another server is listening there"]);
    assert_eq!(served.terminate(), Some(0));
    assert!(!path.exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    // What took its place meanwhile is not ours to remove.
    let served = Served::start(&["--listen", &listen]);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "precious").unwrap();
    assert_eq!(served.terminate(), Some(0));
    check(&run(&["serve", "--listen", &listen]), 2, &[], &["something that is not a socket is there"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");

    let open = dir.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let listen = format!("unix:{}/m.sock", open.display());
    check(&run(&["serve", "--listen", &listen]), 2, &[], &["everybody may write to"]);
}

#[test]
fn a_wrong_start_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    fs::write(&key, "short").unwrap();
    let key = key.to_str().unwrap();
    for (args, sentence) in [
        (&["--listen", "0.0.0.0:50051"][..], "0.0.0.0 can be reached by others"),
        (&["--menu-key-file", key], "a menu key has 32 to 4096 bytes, this one has 5"),
        (&["--menu-key-file", "/nowhere"], "--menu-key-file /nowhere: No such file"),
        (&["--menu-ttl", "0"], "--menu-ttl 0: 1 to 86400 seconds are possible"),
        (&["--drain-secs", "3601"], "--drain-secs 3601: 0 to 3600"),
        (&["--log", "inof"], "--log inof: \"inof\" is not one of off, error, warn"),
        (&["--max-playbooks", "0"], "--max-playbooks 0: 1 to 100000 are possible"),
        (&["--max-playbooks", "100001"], "--max-playbooks 100001"),
        (&["--skills", "/nowhere"], "/nowhere: cannot be read"),
        (&["--log", "=="], "--log"),
    ] {
        check(&run(&[&["serve"], args].concat()), 2, &[], &[sentence]);
    }
    let down = run(&["client", "--server", "127.0.0.1:1", "select", "x"]);
    check(&down, 2, &[], &["no server answers at 127.0.0.1:1", "start one with `maitred serve`"]);
}

#[test]
fn nothing_of_an_author_reaches_a_terminal_as_an_order() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("a\n0 files: all accepted\u{1b}[2K");
    let text = "---\nname: x\ndescription: \"\\u202Eevil \\e[31m words\"\nmetadata:\n  maitred-triggers: \"go\\u202Ego\"\n---\nB\n";
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text).unwrap();
    let root = dir.path().to_str().unwrap();
    let outputs = [
        run(&["check", root]),
        run(&["select", "--skills", root, "go\u{202e}go now"]),
        run(&["select", "--skills", "/nowhere\u{1b}[2K", "x"]),
    ];
    for output in &outputs {
        let shown = [&output.stdout[..], &output.stderr[..]].concat();
        let shown = String::from_utf8(shown).unwrap();
        let is_order = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(
            !shown.contains(is_order) && !shown.lines().any(|line| line.starts_with("0 files")),
            "{shown:?}"
        );
    }
    check(&outputs[1], 0, &["trigger \"go\\u{202e}go\""], &[]);
}

#[test]
fn select_and_check_name_every_skill_that_is_there_and_not_served() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "a", &skill_md("same", "", "One.", "1."));
    write(root, "b", &skill_md("same", "", "Two.", "2."));
    let fifo = root.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let output = run(&["select", "--skills", &path(root), "--untriggered", "ranked", "x"]);
    check(&output, 0, &[], &["b/SKILL.md:1:1: not served: the name \"same\" is taken by"]);
    check(
        &run(&["check", &path(root)]),
        0,
        &["b/SKILL.md:1:1: warning: the name \"same\" is that of", "2 files: 2"],
        &[],
    );
    check(&run(&["check", &path(root), &path(root)]), 0, &["2 files: 2 accepted"], &[]);
    check(
        &run(&["check", &path(&fifo)]),
        1,
        &["refused: the file cannot be read: it is not a regular file"],
        &[],
    );
    let empty = tempfile::tempdir().unwrap();
    check(&run(&["select", "--skills", &path(empty.path()), "x"]), 0, &[], &["no playbook was loaded from"]);
}
