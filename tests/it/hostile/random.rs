//! Bytes that nobody chose: as messages, and as frames.

use maitred::transport::grpc::proto::{
    LoadPlaybookRequest, MessageMeta, PlanCompactionRequest, SelectMenuRequest,
};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use prost::Message as _;
use tokio::runtime::{Builder, Runtime};
use tonic::Code;
use tonic_types::StatusExt as _;

use super::messages::{Answer, H2Client};
use super::{at_rest, limits, served, start};
use crate::harness::turn_request;
use crate::raw::{
    ACK, LOAD_PLAYBOOK, PING, PLAN_COMPACTION, RawConnection, SELECT_MENU, call, frame, message,
};

/// What a call of bytes may be told, other than that it is fine.
const CODES: [Code; 6] = [
    Code::InvalidArgument,
    Code::ResourceExhausted,
    Code::Unimplemented,
    Code::NotFound,
    Code::PermissionDenied,
    // A revision that is not reached.
    Code::Unavailable,
];

fn runner() -> (TestRunner, Runtime) {
    let config = Config { cases: 128, failure_persistence: None, ..Config::default() };
    (TestRunner::new(config), Builder::new_multi_thread().enable_all().build().unwrap())
}

/// A call of each method with most of its fields set.
fn valid() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let ids = || Some("r1".to_owned());
    let slugs = vec!["soup".to_owned(), "late-invoice".to_owned()];
    let select = SelectMenuRequest {
        run_id: ids(),
        turn_id: ids(),
        allowed_slugs: slugs,
        recent: vec!["the onions".to_owned(), "猫".to_owned()],
        limit: Some(6),
        tool_format: 2,
        explain: true,
        ..turn_request("soup 🚀")
    };
    let load = LoadPlaybookRequest {
        menu_token: "AQdkZWZhdWx0AADEizsoup".to_owned(),
        slug: "soup".to_owned(),
        run_id: ids(),
        turn_id: None,
    };
    let meta = MessageMeta { id: "m1".to_owned(), role: 2, tokens: 7, ..MessageMeta::default() };
    let plan = PlanCompactionRequest {
        agent_id: "default".to_owned(),
        run_id: "r1".to_owned(),
        messages: vec![meta; 5],
        budget_tokens: 1_000,
        keep_recent: Some(2),
    };
    prop::sample::select(vec![
        (SELECT_MENU, select.encode_to_vec()),
        (LOAD_PLAYBOOK, load.encode_to_vec()),
        (PLAN_COMPACTION, plan.encode_to_vec()),
    ])
}

/// Valid messages with some bytes changed, cut, or put in; and bytes without any sense.
fn body() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let changes = prop::collection::vec((any::<Index>(), any::<u8>(), 0..3_u8), 0..6);
    let mutated = (valid(), changes).prop_map(|((path, mut bytes), changes)| {
        for (index, byte, change) in changes {
            let at = index.index(bytes.len());
            match change {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at + 1),
            }
        }
        (path, bytes)
    });
    let senseless =
        (valid(), prop::collection::vec(any::<u8>(), 0..600)).prop_map(|((path, _), bytes)| (path, bytes));
    prop_oneof![3 => mutated, 1 => senseless]
}

#[test]
fn any_message_has_an_answer_of_the_table() {
    let (mut runner, runtime) = runner();
    let (server, client) = runtime.block_on(async {
        let (server, _) = start(limits()).await;
        let client = H2Client::open(&server.running.listen).await;
        (server, client)
    });
    let outcome = runner.run(&body(), |(path, bytes)| {
        // A revision that is waited for is not to hold up the test.
        let call = [("grpc-timeout", "60m")];
        match runtime.block_on(client.call(path, &[&message(&bytes)], &call)) {
            Answer::Grpc(Ok(_)) => {}
            Answer::Grpc(Err(status)) => {
                prop_assert!(CODES.contains(&status.code()), "{status:?}");
                prop_assert!(status.get_details_error_info().is_some(), "{status:?}");
            }
            answer => prop_assert!(false, "{answer:?}"),
        }
        Ok(())
    });
    outcome.unwrap();
    drop(client);
    runtime.block_on(async {
        served(&server).await;
        at_rest(&server).await;
    });
}

/// Frames of any kind, those of HTTP/2 more often, on few streams or on any.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![9 => 0..10_u8, 1 => any::<u8>()];
    let stream = prop_oneof![6 => 0..8_u32, 1 => any::<u32>()];
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..16),
        prop::collection::vec(any::<u8>(), 0..1_024),
        Just(vec![0; 4]),
        Just(vec![0; 8]),
    ];
    let any_frame = (kind, any::<u8>(), stream, payload)
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
    let begun = (0..4_u32).prop_map(|number| call(2 * number + 1, SELECT_MENU));
    prop::collection::vec(prop_oneof![2 => any_frame, 1 => begun], 1..24).prop_map(|frames| frames.concat())
}

#[test]
fn any_frames_end_the_connection_or_leave_it_working() {
    let (mut runner, runtime) = runner();
    let (server, _) = runtime.block_on(start(limits()));
    let mark = [9; 8];
    let outcome = runner.run(&frames(), |frames| {
        let bytes = [frames, frame(PING, 0, 0, &mark)].concat();
        let is_marked =
            |frame: &crate::raw::Frame| frame.kind == PING && frame.flags == ACK && frame.payload == mark;
        runtime.block_on(async {
            // Waits for one of the two, not for long.
            RawConnection::open(&server.running.listen, &[]).await.flood(&bytes, is_marked).await;
        });
        Ok(())
    });
    outcome.unwrap();
    runtime.block_on(async {
        served(&server).await;
        at_rest(&server).await;
    });
}
