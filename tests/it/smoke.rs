//! Every bench body, tiny.

#[path = "../../benches/bodies/mod.rs"]
mod bodies;

#[test]
fn every_bench_runs() {
    let mut lines = vec![bodies::embedding(60, 3), bodies::selecting(30, 3)];
    assert!(bodies::pooling_in_tensors(60, 3).p50_us > 0.0);
    assert!(bodies::tokenising(60, 3).p50_us > 0.0);
    lines.extend(bodies::nearest(200, 3));
    for line in &lines {
        let is_measured = line.p50_us > 0.0 && line.floor_us > 0.0 && line.p99_us >= line.p50_us;
        assert!(is_measured && !line.floor.is_empty(), "{line:?}");
    }
    let names: Vec<&str> = lines.iter().map(|line| line.what.as_str()).collect();
    assert!(
        names[1..] == ["select among 30 playbooks", "cosines of 200 by scan", "nearest of 200 by graph"],
        "{names:?}"
    );
    assert_eq!(lines[1].remark, "scan");
    assert!(
        lines[3].remark.starts_with("recall@32 0.9") || lines[3].remark.starts_with("recall@32 1."),
        "{lines:?}"
    );
}
