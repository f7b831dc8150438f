//! What was measured, as JSON and for people.

use std::collections::BTreeMap;
use std::iter::once;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

use crate::cli::labelled::data::{Distractors, Half};
use crate::cli::labelled::measure::{Figures, Hits};
use crate::domain::text;

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) model_id: String,
    pub(super) corpus: String,
    pub(super) playbooks: usize,
    /// Playbooks of which a part was cut to the limits of a playbook.
    pub(super) cut: usize,
    pub(super) distractors: Option<Distractors>,
    pub(super) pool: Option<u32>,
    /// Turns that cannot be asked, such as those whose playbook is not in the corpus, and why the first cannot.
    pub(super) left_out: usize,
    pub(super) first_left_out: Option<String>,
    pub(super) half: Half,
    pub(super) stray_share: f64,
    /// Turns that do not name their playbook.
    #[serde(flatten)]
    pub(super) unnamed: Figures,
    /// All turns.
    pub(super) all: Figures,
    /// The turns of each kind, where the set has kinds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) kinds: BTreeMap<String, Figures>,
}

pub(super) fn table(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    let kinds = report.kinds.iter().map(|(kind, figures)| (text::escaped(kind, 40), figures));
    let first = [("turns that do not name their playbook", &report.unnamed), ("all", &report.all)];
    let columns: Vec<(String, &Figures)> =
        first.map(|(head, figures)| (head.to_owned(), figures)).into_iter().chain(kinds).collect();
    table.set_header(once("").chain(columns.iter().map(|(head, _)| head.as_str())));
    let mut row = |what: &str, cell: &dyn Fn(&Figures) -> String| {
        table.add_row(once(what.to_owned()).chain(columns.iter().map(|(_, figures)| cell(figures))));
    };
    row("turns in scope, out of scope, near misses", &|f| {
        format!("{}, {}, {}", f.in_scope, f.out_of_scope, f.near_misses)
    });
    row("right one among the first 1, 3, 6", &|f| hits(&f.hits));
    row("  by BM25 alone", &|f| hits(&f.lexical_alone));
    row("  by embedding alone", &|f| hits(&f.semantic_alone));
    row("wrong one first (near misses)", &|f| share(f.near_miss_on_top));
    row("menus out of scope", &|f| share(f.offered_out_of_scope));
    row("kept above the floor", &|f| share(f.kept_in_scope));
    row("right one on the menu", &|f| share(f.kept_of_all));
    row("lines of a menu", &|f| f.items_mean.map_or("-".to_owned(), |mean| format!("{mean:.2}")));
    row("expected calibration error", &|f| share(f.ece));
    row("selection p50, p99", &|f| format!("{:.1} us, {:.1} us", f.us_per_select_p50, f.us_per_select_p99));
    let catalogue = match report.pool {
        Some(pool) if pool as usize >= report.playbooks => {
            format!(
                "one catalogue of all {} playbooks, which are no more than --pool {pool}",
                report.playbooks
            )
        }
        Some(pool) => format!("random catalogues of {pool} of {} playbooks", report.playbooks),
        None => format!("one catalogue of {} playbooks", report.playbooks),
    };
    let mut lines = vec![format!("{}: {catalogue}", report.corpus), table.to_string()];
    if report.cut > 0 {
        lines.push(format!("{} playbooks were cut to the limits", report.cut));
    }
    if let Some(first) = &report.first_left_out {
        lines.push(format!("turns left out: {}; the first, {first}", report.left_out));
    }
    if let Some(Distractors { added, equal, refused }) = report.distractors {
        let dropped = format!("{equal} dropped because they equal another, {refused} are no playbooks");
        lines.push(format!("distractors: {added} added, {dropped}"));
    }
    lines.push(format!("model {}", report.model_id));
    lines.join("\n") + "\n"
}

fn hits(hits: &Hits) -> String {
    [hits.hit_at_1, hits.hit_at_3, hits.hit_at_6].map(share).join("  ")
}

fn share(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{share:.3}"))
}
