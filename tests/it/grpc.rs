//! The contract over a real connection: answers, refusals, and what a refusal leaves unharmed.

use std::fs;

use maitred::transport::grpc::proto::acp_service_client::AcpServiceClient;
use maitred::transport::grpc::proto::reason::Kind;
use maitred::transport::grpc::proto::run_service_client::RunServiceClient;
use maitred::transport::grpc::proto::select_menu_request::Turn;
use maitred::transport::grpc::proto::{
    AcpPrompt, AdvertiseRequest, EndRunRequest, Exclusion, ListActivationsRequest, LoadPlaybookRequest,
    PlanCompactionRequest, RestoreActivationsRequest, RunsStatus, SelectMenuRequest, SemanticState,
    WatchCommandsRequest,
};
use tonic::Code;

use crate::fixture::skill_md;
use crate::harness::{Setup, TestServer, check_refused, load_request, turn_request, write};
use crate::wire::{Wire, prefixed};

#[tokio::test(flavor = "multi_thread")]
async fn a_menu_its_tool_and_its_playbook() {
    let server = TestServer::small().await;
    let request = SelectMenuRequest { explain: true, ..turn_request("the invoice is OVERDUE") };
    let answer = server.select(request).await.unwrap();
    assert_eq!(answer.items.len(), 1);
    let item = &answer.items[0];
    assert_eq!((item.slug.as_str(), item.title.as_str()), ("late-invoice", "Late invoice"));
    let Some(Kind::Trigger(hit)) = item.reason.as_ref().and_then(|reason| reason.kind.clone()) else {
        panic!("{item:?}")
    };
    assert_eq!((hit.matched, hit.found_in), (vec!["overdue".to_owned()], vec!["overdue".to_owned()]));
    assert!(item.scores.is_some_and(|scores| scores.probability > 0.0 && scores.cosine.is_some()));
    assert_eq!(answer.considered[0].slug, "soup");
    assert_eq!(answer.considered[0].exclusion(), Exclusion::BelowFloor);
    assert_eq!((answer.revision, answer.runs()), (1, RunsStatus::NotAsked));
    let semantic = answer.semantic.as_ref().unwrap();
    assert_eq!((semantic.state(), semantic.detail.as_str()), (SemanticState::Ok, ""));
    assert!(semantic.model_id.starts_with("sha256:"), "{semantic:?}");
    assert!(answer.tool.unwrap().definition_json.contains(r#""enum":["late-invoice"]"#));
    assert!(answer.prompt_block.contains("\n- late-invoice: Late invoice. Chases an unpaid invoice.\n"));
    assert!(answer.menu_digest.starts_with("sha256:"));

    let loaded = server.load(load_request(&answer.menu_token, "late-invoice")).await.unwrap();
    assert_eq!(loaded.instructions, "Step one.\n\nStep two.\n");
    assert_eq!((loaded.body_bytes, loaded.revision), (21, 1));
    let flags = [loaded.already_loaded, loaded.revised_since_menu, loaded.revised_since_load, loaded.pinned];
    assert_eq!(flags, [false; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_menu_is_a_normal_answer_with_a_token_and_without_a_tool() {
    let server = TestServer::small().await;
    let answer = server.select(turn_request("what is the capital of Peru?")).await.unwrap();
    assert!(answer.items.is_empty() && answer.tool.is_none() && answer.prompt_block.is_empty());
    let load = server.load(load_request(&answer.menu_token, "soup")).await;
    check_refused(load, Code::NotFound, "SLUG_NOT_ON_MENU", "it is empty");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_unavailable_and_bound_into_the_token() {
    let server = TestServer::small().await;
    let ids = |run: &str, turn: &str| (Some(run.to_owned()), Some(turn.to_owned()));
    let (run_id, turn_id) = ids("r1", "t1");
    let answer = server.select(SelectMenuRequest { run_id, turn_id, ..turn_request("soup") }).await.unwrap();
    assert_eq!(answer.runs(), RunsStatus::Unavailable);
    let load = |(run_id, turn_id)| {
        server.load(LoadPlaybookRequest { run_id, turn_id, ..load_request(&answer.menu_token, "soup") })
    };
    assert!(!load(ids("r1", "t1")).await.unwrap().pinned);
    check_refused(
        load(ids("r2", "t1")).await,
        Code::PermissionDenied,
        "MENU_TOKEN_OTHER_RUN",
        "another run_id",
    );
    check_refused(
        load(ids("r1", "t2")).await,
        Code::PermissionDenied,
        "MENU_TOKEN_OTHER_TURN",
        "another turn_id",
    );
    check_refused(
        load((None, None)).await,
        Code::PermissionDenied,
        "MENU_TOKEN_OTHER_RUN",
        "the call names none",
    );
}

/// CASES 2.14: an invented or misspelt slug is refused with the menu's slugs, the same way each time, and nothing is loaded
/// for being near.
#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_token_and_slug_has_its_reason() {
    let server = TestServer::small().await;
    let token = server.select(turn_request("soup and overdue")).await.unwrap().menu_token;
    let load = |token: &str, slug: &str| server.load(load_request(token, slug));

    for slug in ["query-encyclopedia", "Steady_Probe", "soup ", "SOUP", &"猫".repeat(1_400)] {
        let (answer, again) = (load(&token, slug).await, load(&token, slug).await);
        let messages = [&answer, &again].map(|answer| answer.as_ref().unwrap_err().message().to_owned());
        assert_eq!(messages[0], messages[1]);
        check_refused(answer, Code::NotFound, "SLUG_NOT_ON_MENU", "it offers soup, late-invoice");
    }
    check_refused(load(&token, "").await, Code::InvalidArgument, "FIELD_INVALID", "slug: is empty");
    check_refused(load("", "soup").await, Code::InvalidArgument, "FIELD_INVALID", "menu_token: is empty");
    let long = "x".repeat(4_097);
    check_refused(load(&long, "soup").await, Code::InvalidArgument, "FIELD_INVALID", "the limit is 4096");
    for forged in [&token[..token.len() - 1], &format!("{token}A"), "猫", "AAAA"] {
        check_refused(
            load(forged, "soup").await,
            Code::PermissionDenied,
            "MENU_TOKEN_INVALID",
            "send it as SelectMenu",
        );
    }
    let foreign = TestServer::small().await.select(turn_request("soup")).await.unwrap().menu_token;
    check_refused(
        load(&foreign, "soup").await,
        Code::PermissionDenied,
        "MENU_TOKEN_INVALID",
        "this server's key",
    );

    server.clock.advance(15 * 60);
    check_refused(
        load(&token, "soup").await,
        Code::FailedPrecondition,
        "MENU_TOKEN_EXPIRED",
        "expired 0 s ago",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_file_makes_tokens_hold_on_every_replica() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    fs::write(&key, "0123456789abcdef0123456789abcdef\n").unwrap();
    let skills = [("soup", skill_md("soup", "soup", "Cooks.", "Slice."))];
    let start = || Setup { skills: &skills, menu_key_file: Some(key.clone()), ..Setup::default() };
    let (one, other) = (TestServer::start(start()).await, TestServer::start(start()).await);
    let token = one.select(turn_request("soup")).await.unwrap().menu_token;
    assert_eq!(other.load(load_request(&token, "soup")).await.unwrap().instructions, "Slice.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_and_withdrawn_playbooks_say_so() {
    let server = TestServer::small().await;
    let token = server.select(turn_request("soup and overdue")).await.unwrap().menu_token;
    write(server.dir.path(), "soup", &skill_md("soup", "soup", "Cooks onion soup.", "Peel them first."));
    server.menu_at(2, "soup").await;
    let loaded = server.load(load_request(&token, "soup")).await.unwrap();
    assert_eq!((loaded.instructions.as_str(), loaded.revised_since_menu), ("Peel them first.\n", true));
    fs::remove_dir_all(server.dir.path().join("soup")).unwrap();
    server.menu_at(3, "soup").await;
    let load = server.load(load_request(&token, "soup")).await;
    check_refused(load, Code::FailedPrecondition, "PLAYBOOK_WITHDRAWN", "\"soup\" was withdrawn");
    assert!(!server.load(load_request(&token, "late-invoice")).await.unwrap().revised_since_menu);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_malformed_field_is_named() {
    let server = TestServer::small().await;
    let turn = || turn_request("soup");
    let some = |text: &str| Some(text.to_owned());
    for (request, sentence) in [
        (SelectMenuRequest { agent_id: String::new(), ..turn() }, "agent_id: is empty"),
        (SelectMenuRequest { agent_id: "a/b".to_owned(), ..turn() }, "agent_id: \"a/b\" may hold only"),
        (
            SelectMenuRequest { agent_id: "a".repeat(129), ..turn() },
            "agent_id: has 129 bytes, the limit is 128",
        ),
        (SelectMenuRequest { turn: None, ..turn() }, "text: is missing"),
        (turn_request(" \n "), "text: the turn is empty"),
        (turn_request(&"x".repeat(131_073)), "text: the turn has 131073 bytes, the limit is 131072"),
        (SelectMenuRequest { limit: Some(7), ..turn() }, "limit: the limit is 7, at most 6"),
        (
            SelectMenuRequest { recent: vec![String::new(); 17], ..turn() },
            "recent: there are 17 recent turns",
        ),
        (SelectMenuRequest { run_id: some(""), ..turn() }, "run_id: is empty"),
        (SelectMenuRequest { turn_id: some("a\nb"), ..turn() }, "turn_id: \"a\\u{a}b\" may hold only"),
        (SelectMenuRequest { tool_format: 9, ..turn() }, "tool_format: 9 is not one of"),
        (
            SelectMenuRequest { allowed_slugs: vec!["A".to_owned()], ..turn() },
            "allowed_slugs: the name \"A\"",
        ),
    ] {
        check_refused(server.select(request).await, Code::InvalidArgument, "FIELD_INVALID", sentence);
    }
    let unknown = SelectMenuRequest { agent_id: "nobody".to_owned(), ..turn() };
    check_refused(
        server.select(unknown).await,
        Code::NotFound,
        "AGENT_UNKNOWN",
        "there is no agent \"nobody\"",
    );
    assert_eq!(server.select(turn_request(&"x ".repeat(65_536))).await.unwrap().items.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_declared_and_not_built_is_refused_by_name() {
    let server = TestServer::small().await;
    let some = || Some("x".to_owned());
    let turn = || turn_request("soup");
    for (request, field) in [
        (SelectMenuRequest { parent_run_id: some(), ..turn() }, "parent_run_id"),
        (SelectMenuRequest { language: some(), ..turn() }, "language"),
        (SelectMenuRequest { previous_menu_token: some(), ..turn() }, "previous_menu_token"),
        (SelectMenuRequest { turn: Some(Turn::AcpPrompt(AcpPrompt::default())), ..turn() }, "acp_prompt"),
    ] {
        let sentence = format!("the field `{field}` is declared and not built yet");
        check_refused(server.select(request).await, Code::Unimplemented, "NOT_BUILT_YET", &sentence);
    }
    let mut run = RunServiceClient::new(server.channel.clone());
    let mut acp = AcpServiceClient::new(server.channel.clone());
    let list = run.list_activations(ListActivationsRequest::default()).await;
    check_refused(list, Code::Unimplemented, "NOT_BUILT_YET", "RunService.ListActivations");
    let restore = run.restore_activations(RestoreActivationsRequest::default()).await;
    check_refused(restore, Code::Unimplemented, "NOT_BUILT_YET", "RunService.RestoreActivations");
    let plan = run.plan_compaction(PlanCompactionRequest::default()).await;
    check_refused(plan, Code::Unimplemented, "NOT_BUILT_YET", "RunService.PlanCompaction");
    let end = run.end_run(EndRunRequest::default()).await;
    check_refused(end, Code::Unimplemented, "NOT_BUILT_YET", "RunService.EndRun");
    let advertise = acp.advertise(AdvertiseRequest::default()).await;
    check_refused(advertise, Code::Unimplemented, "NOT_BUILT_YET", "AcpService.Advertise");
    let watch = acp.watch_commands(WatchCommandsRequest::default()).await;
    check_refused(watch, Code::Unimplemented, "NOT_BUILT_YET", "AcpService.WatchCommands");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_over_its_limit_leaves_the_connection_alive() {
    let server = TestServer::small().await;
    let recent = vec!["x".repeat(131_072); 3];
    let too_large = SelectMenuRequest { recent: recent.clone(), ..turn_request("soup") };
    let calls = (0..8).map(|number| {
        let request = if number % 2 == 0 { too_large.clone() } else { turn_request("soup") };
        async { server.select(request).await }
    });
    let mut answers = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        answers.push(call.await);
    }
    for (number, answer) in answers.into_iter().enumerate() {
        if number % 2 == 0 {
            check_refused(answer, Code::ResourceExhausted, "MESSAGE_TOO_LARGE", "262144 bytes");
        } else {
            assert_eq!(answer.unwrap().items[0].slug, "soup");
        }
    }
    let mut run = RunServiceClient::new(server.channel.clone());
    let plan =
        PlanCompactionRequest { run_id: "x".repeat(4 * 1024 * 1024), ..PlanCompactionRequest::default() };
    check_refused(run.plan_compaction(plan).await, Code::Unimplemented, "NOT_BUILT_YET", "PlanCompaction");
    assert_eq!(server.select(turn_request("soup")).await.unwrap().items[0].slug, "soup");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_message_is_refused_with_the_field() {
    let server = TestServer::small().await;
    let mut wire = Wire::connect(&server.running.listen).await;
    let mut call = async |path: &str, bytes: &[u8]| wire.call(path, None, prefixed(bytes)).await.result();
    let select = "/maitred.v1.MenuService/SelectMenu";
    for (bytes, sentence) in [
        (&b"\x0a\x02\xff\xfe"[..], "SelectMenuRequest.agent_id: invalid string value"),
        (&b"\x3a\x01\xff"[..], "SelectMenuRequest.turn: invalid string value"),
        (&b"\x0a\x7f"[..], "the message cannot be read"),
        (&b"\x08\x01"[..], "agent_id: invalid wire type"),
        (&b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"[..], "the message cannot be read"),
    ] {
        check_refused(call(select, bytes).await, Code::InvalidArgument, "MESSAGE_MALFORMED", sentence);
    }
    check_refused(call(select, b"").await, Code::InvalidArgument, "FIELD_INVALID", "agent_id: is empty");
    let mut compressed = server.client.clone().send_compressed(tonic::codec::CompressionEncoding::Gzip);
    let answer = compressed.select_menu(turn_request("soup")).await;
    check_refused(answer, Code::Unimplemented, "ENCODING_UNSUPPORTED", "send it uncompressed");
    let nowhere = call("/maitred.v1.MenuService/Nothing", b"").await;
    check_refused(nowhere, Code::Unimplemented, "METHOD_UNKNOWN", "there is no such method");
    assert_eq!(server.select(turn_request("soup")).await.unwrap().items[0].slug, "soup");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_is_waited_for_as_long_as_the_caller_waits() {
    let server = TestServer::small().await;
    let mut request =
        tonic::Request::new(SelectMenuRequest { min_revision: Some(99), ..turn_request("soup") });
    request.set_timeout(std::time::Duration::from_millis(500));
    let answer = server.client.clone().select_menu(request).await;
    check_refused(answer, Code::Unavailable, "REVISION_NOT_REACHED", "at revision 1, and 99 was not reached");
    let reached = SelectMenuRequest { min_revision: Some(1), ..turn_request("soup") };
    assert_eq!(server.select(reached).await.unwrap().revision, 1);
    let unreached = SelectMenuRequest { min_revision: Some(2), ..turn_request("soup") };
    let answer = server.select(unreached).await;
    check_refused(
        answer,
        Code::Unavailable,
        "REVISION_NOT_REACHED",
        "is at revision 1, and 2 was not reached",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn both_reflection_versions_list_the_services() {
    use tokio_stream::once;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    use tonic_reflection::pb::{v1, v1alpha};

    let server = TestServer::small().await;
    let ask = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut client = ServerReflectionClient::new(server.channel.clone());
    let mut answers = client.server_reflection_info(once(ask)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(list) = answer else { panic!("{answer:?}") };
    let names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in
        ["maitred.v1.MenuService", "maitred.v1.RunService", "maitred.v1.AcpService", "grpc.health.v1.Health"]
    {
        assert!(names.contains(&name), "{names:?}");
    }

    let ask = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
            "maitred.v1.MenuService".to_owned(),
        )),
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(server.channel.clone());
    let mut answers = client.server_reflection_info(once(ask)).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().unwrap().message_response.is_some());
}
