//! Floods: too much of what is allowed, and much of what is not.

use maitred::app::admit::AdmissionLimits;
use maitred::transport::connection::ConnectionLimits;

use super::{MILLI, Metrics, at_rest, eventually, limits, served, soup, start, while_served};
use crate::harness::{Setup, TestServer};
use crate::raw::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, INITIAL_WINDOW, PING,
    PRIORITY, PROTOCOL_ERROR, RST_STREAM, RawConnection, SELECT_MENU, WINDOW_UPDATE, call, call_fields,
    fields, frame, message, settings, stream_ids,
};

/// Frames of one kind, in the number of a flood.
const MANY: usize = 100_000;

/// The bytes of so many streams.
fn streams(count: usize, one: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    stream_ids().take(count).flat_map(one).collect()
}

/// Checks that floods end their connections with one of these reasons, while others are served, and that nothing stays.
async fn check_ended(floods: &[(&str, Vec<u8>)], reasons: &[u32]) {
    let (server, mut before) = start(limits()).await;
    for (what, bytes) in floods {
        let connection = RawConnection::open(&server.running.listen, &[]).await;
        let ending = while_served(&server, connection.flood(bytes, |_| false)).await;
        assert!(ending.is_closed, "{what}");
        // The reason may be lost: a connection that is closed with bytes unread is reset.
        assert!(ending.go_away.is_none_or(|told| reasons.contains(&told)), "{what}: {ending:?}");
        let after = at_rest(&server).await;
        assert_eq!(after.closed("protocol") - before.closed("protocol"), 1, "{what}");
        before = after;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_begun_and_cancelled_at_once_end_the_connection() {
    let cancelled = |stream| {
        let cancel = frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
        [call(stream, SELECT_MENU), cancel].concat()
    };
    check_ended(&[("rapid reset", streams(20_000, cancelled))], &[ENHANCE_YOUR_CALM]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_make_the_server_reset_them_end_the_connection() {
    let window = |increment: u32| {
        move |stream| {
            let update = frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
            [call(stream, SELECT_MENU), update].concat()
        }
    };
    let data_after_the_end = |stream| {
        let call = frame(HEADERS, END_HEADERS | END_STREAM, stream, &call_fields(SELECT_MENU));
        [call, frame(DATA, 0, stream, &[0])].concat()
    };
    let untrue_length = |stream| {
        let fields = [call_fields(SELECT_MENU), fields(&[("content-length", "5")])].concat();
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields)
    };
    check_ended(
        &[
            ("no increment", streams(20_000, window(0))),
            ("an overflow", streams(20_000, window(0x7fff_ffff))),
            ("data after the end", streams(20_000, data_after_the_end)),
            ("a length that is not true", streams(20_000, untrue_length)),
        ],
        &[PROTOCOL_ERROR, ENHANCE_YOUR_CALM],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_data_without_end_end_the_connection() {
    let continued = |payload: &[u8]| {
        let mut bytes = frame(HEADERS, 0, 1, &call_fields(SELECT_MENU));
        bytes.extend(frame(CONTINUATION, 0, 1, payload).repeat(MANY));
        bytes
    };
    let data = |payload: &[u8]| {
        let mut bytes = call(1, SELECT_MENU);
        bytes.extend(frame(DATA, 0, 1, payload).repeat(MANY));
        bytes
    };
    let text = "x".repeat(120);
    let floods = [
        ("continuations", continued(&fields(&[("a", &text)]))),
        ("empty continuations", continued(&[])),
        ("empty data", data(&[])),
        ("a byte a frame", data(&[0])),
    ];
    check_ended(&floods, &[ENHANCE_YOUR_CALM]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn small_talk_is_answered_to_the_end_and_disturbs_nobody() {
    let (server, before) = start(limits()).await;
    for (what, one, has_answers) in [
        ("pings", frame(PING, 0, 0, &[7; 8]), true),
        ("settings", settings(&[(INITIAL_WINDOW, 1_000)]), true),
        ("priorities", frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 9]), false),
        ("windows", frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()), false),
        ("frames that nobody knows", frame(99, 0xff, 1, &[1]), false),
    ] {
        let connection = RawConnection::open(&server.running.listen, &[]).await;
        let bytes = [one.repeat(MANY), frame(PING, 0, 0, &[9; 8])].concat();
        let mut answers = 0;
        let talk = connection.flood(&bytes, |frame| {
            answers += usize::from(frame.kind == one[3] && frame.flags == ACK && frame.payload != [9; 8]);
            frame.kind == PING && frame.payload == [9; 8]
        });
        let ending = while_served(&server, talk).await;
        assert!(!ending.is_closed, "{what}");
        if has_answers {
            // The first settings are answered too.
            assert!((MANY..=MANY + 1).contains(&answers), "{what}: {answers}");
        }
        at_rest(&server).await;
    }
    assert_eq!(at_rest(&server).await.closed("protocol"), before.closed("protocol"));
}

#[tokio::test(flavor = "multi_thread")]
async fn small_talk_whose_answers_are_not_read_is_cut() {
    let (server, before) = start(ConnectionLimits { stall_time: 400 * MILLI, ..limits() }).await;
    for (number, one) in [frame(PING, 0, 0, &[7; 8]), settings(&[])].into_iter().enumerate() {
        let mut connection = RawConnection::narrow(&server.running.listen).await;
        connection.begin(&[]).await;
        let taken = while_served(&server, async {
            let taken = connection.press(&one.repeat(1_000)).await;
            let cut = 1 + i64::try_from(number).unwrap();
            eventually(&server, "the cut", |metrics| {
                metrics.closed("stalled") - before.closed("stalled") == cut
            })
            .await;
            taken
        });
        let taken = taken.await;
        assert!(taken < 64 * 1_024 * 1_024, "{taken} bytes were taken, and something keeps them");
        at_rest(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_without_their_messages_take_no_place_from_others() {
    let admission = AdmissionLimits { queued_max: 256, in_flight_max: 1 };
    let connections = ConnectionLimits { stall_time: 200 * MILLI, ..limits() };
    let server =
        TestServer::start(Setup { skills: &soup(), admission, connections, ..Setup::default() }).await;
    let mut slow = RawConnection::open(&server.running.listen, &[]).await;
    // All of them within the window that a connection begins with.
    let half = &message(&[0; 500])[..250];
    let with_deadline = [call_fields(SELECT_MENU), fields(&[("grpc-timeout", "600m")])].concat();
    let begun = |stream| match stream % 4 {
        _ if stream == 1 => frame(HEADERS, END_HEADERS, stream, &with_deadline),
        1 => call(stream, SELECT_MENU),
        _ => [call(stream, SELECT_MENU), frame(DATA, 0, stream, half)].concat(),
    };
    slow.send(&[streams(256, begun), frame(PING, 0, 0, &[9; 8])].concat()).await.unwrap();
    while slow.next().await.expect("it is open").kind != PING {}
    for _ in 0..20 {
        served(&server).await;
    }
    let metrics = Metrics::read(&server).await;
    assert_eq!((metrics.value("maitred_in_flight"), metrics.value("maitred_queued")), (0, 0));
    // They leave no answer unread, so that their connection is not cut: each is answered in its time.
    let answer = loop {
        let frame = slow.next().await.expect("it is open still");
        if frame.kind == HEADERS {
            break frame;
        }
    };
    assert_eq!(answer.stream, 1);
    drop(slow);
    at_rest(&server).await;
}
