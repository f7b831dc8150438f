//! Every bench body, tiny.

#[path = "../../benches/bodies/mod.rs"]
mod bodies;
#[path = "../../benches/load/mod.rs"]
mod load;
#[path = "../../benches/words/mod.rs"]
mod words;

use std::time::Duration;

use load::{Pace, Target, echo, ours};

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_the_bench_is_answered() {
    let running = ours::serve(12).await;
    ours::publish_for_ever(&running, 12, Duration::from_millis(20));
    let calls = ours::calls(&running.listen).await;
    let floor = Target {
        address: echo::serve(calls.select.1).await,
        path: "/bench.Echo/Call",
        message: prost::Message::encode_to_vec(&echo::Blob { bytes: calls.select.0.message.clone() }).into(),
    };
    for target in [&calls.select.0, &calls.load.0, &floor] {
        let pace = Pace { together: 3, every: Duration::from_millis(2), rounds: 10 };
        let latencies = load::paced(target, pace).await;
        assert!(latencies.per_mille(500) > 0.0 && latencies.per_mille(999) >= latencies.per_mille(500));
        assert!(load::flat_out(target, 4, 2, Duration::from_millis(20)).await > 0.0);
    }
    let few = Duration::from_millis(20);
    let select = &calls.select.0;
    for outcomes in [
        load::flood::burst(&[select, &calls.load.0], 40, 2).await,
        load::flood::callers(select, 4, 2, few).await,
        load::flood::at_rate(select, 500.0, 2, few).await,
    ] {
        assert!(outcomes.goodput() > 0.0 && outcomes.failed().is_empty());
        assert!(outcomes.answered_ms().0 > 0.0 && (outcomes.shed() == 0) == (outcomes.shed_ms().0 == 0.0));
    }
    running.stop().await.unwrap();
}

#[test]
fn every_bench_runs() {
    let mut lines = vec![bodies::embedding(60, 3), bodies::selecting(30, 3)];
    assert!(bodies::pooling_in_tensors(60, 3).p50_us > 0.0);
    assert!(bodies::tokenising(60, 3).p50_us > 0.0);
    assert!(bodies::publishing(5, 3).p50_us > 0.0);
    lines.extend(bodies::nearest(200, 3));
    for line in &lines {
        let is_measured = line.p50_us > 0.0 && line.floor_us > 0.0 && line.p99_us >= line.p50_us;
        assert!(is_measured && !line.floor.is_empty(), "{line:?}");
    }
    let names: Vec<&str> = lines.iter().map(|line| line.what.as_str()).collect();
    assert!(
        names[1..]
            == [
                "select among 30 playbooks",
                "cosines of 200 by scan",
                "nearest of 200 by codes",
                "nearest of 200 by graph"
            ],
        "{names:?}"
    );
    assert_eq!(lines[1].remark, "all judged");
    for line in &lines[3..] {
        let found = |start: &str| line.remark.starts_with(start);
        assert!(found("recall@32 0.9") || found("recall@32 1."), "{lines:?}");
    }
}
