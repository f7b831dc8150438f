//! The HTTP door: metrics, probes, and whom it lets in.

use std::collections::BTreeSet;

use maitred::app::admit::AdmissionLimits;
use tonic::Code;

use crate::fixture::skill_md;
use crate::harness::{Setup, TestServer, check_refused, load_request, turn_request};
use crate::wire::get;

#[tokio::test(flavor = "multi_thread")]
async fn probes_and_metrics_answer_to_names_of_this_machine_alone() {
    let server = TestServer::small().await;
    let http = server.running.http.clone().unwrap();
    for (path, host, status, part) in [
        ("/healthz", "localhost", "200 OK", "ok"),
        ("/readyz", "127.0.0.1:50052", "200 OK", "ready"),
        ("/metrics", "[::1]:50052", "200 OK", "# TYPE maitred_stage_seconds histogram"),
        (
            "/metrics",
            "rebound.example",
            "421 Misdirected Request",
            "must be localhost, a loopback address or a name given with --http-name",
        ),
        ("/", "localhost", "404 Not Found", "/openapi.json lists what there is"),
        ("/%3Cscript%3E", "localhost", "404 Not Found", "there is nothing at /%3Cscript%3E"),
    ] {
        let (found, text) = get(&http, path, host).await;
        assert_eq!(found, format!("HTTP/1.1 {status}"), "{path} {host}");
        assert!(text.contains(part), "{path}: {text}");
    }
}

/// The stages of a selection, the sizes and reasons of its menu, and what was refused, each counted once.
#[tokio::test(flavor = "multi_thread")]
async fn every_part_of_a_call_is_counted() {
    let server = TestServer::small().await;
    for turn in ["soup", "soup and overdue", "what is the capital of Peru?"] {
        server.select(turn_request(turn)).await.unwrap();
    }
    let load = server.load(load_request("x", "soup")).await;
    check_refused(load, Code::PermissionDenied, "MENU_TOKEN_INVALID", "this server's key");
    for stage in ["convert", "admit", "embed", "trigger", "lexical", "nearest", "judge", "sign"] {
        let count = format!("maitred_stage_seconds_count{{stage=\"{stage}\"}}");
        assert_eq!(server.metric(&count).await, 3, "{stage}");
    }
    for (series, value) in [
        ("maitred_menus_total{size=\"0\"}", 1),
        ("maitred_menus_total{size=\"1\"}", 1),
        ("maitred_menus_total{size=\"2\"}", 1),
        ("maitred_menu_items_total{reason=\"trigger\"}", 3),
        ("maitred_refused_total{reason=\"MENU_TOKEN_INVALID\"}", 1),
        ("maitred_revision", 1),
        ("maitred_agents", 1),
        ("maitred_playbooks", 2),
        ("maitred_reaper_backlog", 0),
        ("maitred_connections{door=\"grpc\"}", 1),
        (
            "grpc_server_handling_seconds_count{grpc_method=\"SelectMenu\",grpc_service=\"maitred.v1.MenuService\"}",
            3,
        ),
    ] {
        assert_eq!(server.metric(series).await, value, "{series}");
    }
    let text = server.metrics().await;
    assert!(text.contains("\nmaitred_snapshot_age_seconds 0."), "{text}");
    assert!(server.metric("process_open_fds").await > 3);
}

/// Whatever callers send, the number of series stays, and none carries a word of theirs.
#[tokio::test(flavor = "multi_thread")]
async fn labels_have_bounds() {
    let admission = AdmissionLimits { queued_max: 256, in_flight_max: 1_024 };
    let skills = [("soup", skill_md("soup", "soup", "Cooks onion soup.", "Slice the onions."))];
    let server = TestServer::start(Setup { skills: &skills, admission, ..Setup::default() }).await;
    let names = async |server: &TestServer| -> BTreeSet<String> {
        let answer = server.metrics().await;
        // The head of the answer tells the time.
        let (_, text) = answer.split_once("\r\n\r\n").unwrap();
        let series = text.lines().filter(|line| !line.starts_with('#') && line.contains(' '));
        series.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
    };
    let call = async |number: usize| {
        let mut request = turn_request(&format!("soup number {number}"));
        request.run_id = Some(format!("run-{number}"));
        let menu = server.select(request.clone()).await.unwrap();
        request.agent_id = format!("agent-{number}");
        server.select(request).await.unwrap_err();
        server.load(load_request(&menu.menu_token, &format!("slug-{number}"))).await.unwrap_err();
    };
    call(0).await;
    let before = names(&server).await;
    for number in 1..30 {
        call(number).await;
    }
    let after = names(&server).await;
    assert_eq!(before, after);
    for word in ["soup", "agent-", "run-", "slug-", "default", "127.0.0.1"] {
        assert!(!after.iter().any(|name| name.contains(word)), "{word}");
    }
}
