//! `maitred check --menu`: the files that were accepted, looked at as one agent's playbooks.

use std::collections::BTreeMap;
use std::sync::Arc;

use indicatif::ProgressBar;
use serde::Serialize;

use crate::app::lint::{Lint, PlaybookLint, lint};
use crate::domain::agent::{AgentSettings, Untriggered};
use crate::domain::playbook::Playbook;
use crate::domain::slug::Slug;
use crate::engine::builder::Builder;

#[derive(Serialize)]
pub(super) struct MenuView {
    neutral_turns: usize,
    playbooks: Vec<PlaybookView>,
}

#[derive(Serialize)]
struct PlaybookView {
    slug: String,
    neutral_share: f64,
    warnings: Vec<String>,
}

/// Of playbooks of one name the first, as a server takes them. Those without triggers are ranked.
pub(super) fn look<'a>(playbooks: impl Iterator<Item = &'a Playbook>) -> Result<MenuView, String> {
    let mut distinct: BTreeMap<Slug, Arc<Playbook>> = BTreeMap::new();
    for playbook in playbooks {
        distinct.entry(playbook.slug().clone()).or_insert_with(|| Arc::new(playbook.clone()));
    }
    let settings = AgentSettings { untriggered: Untriggered::Ranked, ..AgentSettings::default() };
    let bar = ProgressBar::new(0);
    let progress = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let found = lint(distinct.into_values().collect(), settings, &Builder::default(), &progress);
    bar.finish_and_clear();
    let Lint { neutral_turns, playbooks } = found.map_err(|error| error.to_string())?;
    let view = |PlaybookLint { slug, neutral_share, warnings }| PlaybookView {
        slug: slug.to_string(),
        neutral_share,
        warnings,
    };
    Ok(MenuView { neutral_turns, playbooks: playbooks.into_iter().map(view).collect() })
}

/// One line a warning, and the sums.
pub(super) fn lines(view: &MenuView) -> String {
    let mut out = Vec::new();
    for playbook in &view.playbooks {
        out.extend(playbook.warnings.iter().map(|warning| format!("{}: {warning}", playbook.slug)));
    }
    let warned = view.playbooks.iter().filter(|playbook| !playbook.warnings.is_empty()).count();
    out.push(format!(
        "on menus: {} of {} playbooks have warnings; asked with {} neutral turns and each description\n",
        warned,
        view.playbooks.len(),
        view.neutral_turns
    ));
    out.join("\n")
}
