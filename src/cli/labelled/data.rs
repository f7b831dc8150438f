//! What is measured on: playbooks, labelled turns, turns of other domains, distractors.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use crate::domain::digest::Digest;
use crate::domain::limits::{BODY_BYTES_MAX, DESCRIPTION_CHARS_MAX, FILE_BYTES_MAX, TITLE_CHARS_MAX};
use crate::domain::playbook::{Playbook, PlaybookParts};
use crate::domain::query::MenuQuery;
use crate::domain::slug::Slug;
use crate::domain::text::{escaped, escaped_path, prefix_bytes};
use crate::format::gate::admit;
use crate::format::scan::overrides::Overrides;

/// Earlier turns that are read of a context at most, the last ones.
const CONTEXT_TURNS: usize = 4;

/// Which turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli) enum Half {
    /// Both halves.
    All,
    /// The half to fit, to tune and to look at.
    Tune,
    /// The half that is only reported.
    Report,
}

#[derive(Deserialize)]
struct CorpusLine {
    id: String,
    name: Option<String>,
    description: String,
    body: Option<String>,
}

/// The playbooks of a corpus.
pub(in crate::cli) struct Corpus {
    pub(in crate::cli) playbooks: Vec<Arc<Playbook>>,
    /// The place of each id.
    places: HashMap<String, usize>,
    /// Playbooks of which a part was cut to the limits.
    pub(in crate::cli) cut: usize,
}

/// What became of the files of an archive.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(in crate::cli) struct Distractors {
    pub(in crate::cli) added: usize,
    /// Those whose name, description or body equals an entry of the corpus, or of an earlier file.
    pub(in crate::cli) equal: usize,
    /// Those that are no playbooks.
    pub(in crate::cli) refused: usize,
}

#[derive(Deserialize)]
struct QueryLine {
    /// Which half the turn is in.
    id: String,
    text: String,
    #[serde(default)]
    relevant: Vec<String>,
    #[serde(default, deserialize_with = "one_or_many")]
    negative_for: Vec<String>,
    #[serde(default)]
    context: Vec<ContextLine>,
    kind: Option<String>,
    #[serde(default)]
    names_skill: bool,
    #[serde(default)]
    maybe_deferred: bool,
}

/// An earlier turn: its text, with whoever said it or without.
#[derive(Deserialize)]
#[serde(untagged)]
enum ContextLine {
    Text(String),
    Said { text: String },
}

/// A turn with what is known of it.
#[derive(Debug)]
pub(in crate::cli) struct Labelled {
    pub(in crate::cli) query: MenuQuery,
    /// The places of the playbooks that are right.
    pub(in crate::cli) relevant: Vec<usize>,
    /// The places of those that should not come first.
    pub(in crate::cli) negative: Vec<usize>,
    pub(in crate::cli) names_skill: bool,
    /// What sort of turn it is, in the words of the set: a follow-up, a change of subject.
    pub(in crate::cli) kind: Option<Arc<str>>,
}

/// The turns of a set.
#[derive(Debug, Default)]
pub(in crate::cli) struct Turns {
    pub(in crate::cli) asked: Vec<Labelled>,
    /// Those that cannot be asked.
    pub(in crate::cli) left_out: usize,
    /// The first of them, and why.
    pub(in crate::cli) first_left_out: Option<String>,
}

impl Labelled {
    /// The places of the playbooks that its catalogue must hold.
    pub(in crate::cli) fn held(&self) -> Vec<usize> {
        self.relevant.iter().chain(&self.negative).copied().collect()
    }

    /// Whether no playbook is right, so that there should be no menu.
    pub(in crate::cli) fn is_out_of_scope(&self) -> bool {
        self.relevant.is_empty() && self.negative.is_empty()
    }
}

pub(in crate::cli) fn corpus(path: &Path) -> Result<Corpus, String> {
    let lines: Vec<CorpusLine> =
        json_lines(path, "a playbook is a line like {\"id\": \"..\", \"description\": \"..\"}")?;
    let mut corpus = Corpus { playbooks: Vec::new(), places: HashMap::new(), cut: 0 };
    for (at, line) in lines.into_iter().enumerate() {
        let description = characters(line.description.trim(), DESCRIPTION_CHARS_MAX);
        let written = line.body.unwrap_or_default();
        let body = prefix_bytes(&written, BODY_BYTES_MAX);
        corpus.cut +=
            usize::from(description.len() < line.description.trim().len() || body.len() < written.len());
        let title = line.name.map(|name| characters(&name.replace(['-', '_'], " "), TITLE_CHARS_MAX));
        let description = if description.is_empty() { line.id.clone() } else { description };
        let parts = PlaybookParts {
            title: title.filter(|title| !title.trim().is_empty()),
            body: body.to_owned(),
            ..PlaybookParts::new(slug(at)?, description)
        };
        let named = |error| format!("{} line {}: {error:?}", escaped_path(path), at + 1);
        corpus.playbooks.push(Arc::new(Playbook::new(parts).map_err(named)?));
        corpus.places.insert(line.id, at);
    }
    if corpus.playbooks.is_empty() {
        return Err(format!("{}: holds no playbooks", escaped_path(path)));
    }
    Ok(corpus)
}

/// A name by place: what a corpus calls its playbooks may break the name rule.
fn slug(at: usize) -> Result<Slug, String> {
    Slug::parse(&format!("p{at:06}")).map_err(|error| error.to_string())
}

/// The place that a name was made from.
pub(in crate::cli) fn place(slug: &Slug) -> Option<usize> {
    slug.as_str().strip_prefix('p')?.parse().ok()
}

fn characters(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// Adds the playbooks of an archive behind those of the corpus.
pub(in crate::cli) fn add_distractors(path: &Path, corpus: &mut Corpus) -> Result<Distractors, String> {
    let wrong =
        |error: std::io::Error| format!("{}: cannot be read as a .tar.gz: {error}", escaped_path(path));
    let mut known: HashSet<Digest> = corpus.playbooks.iter().flat_map(|playbook| marks(playbook)).collect();
    let file = fs::File::open(path).map_err(|error| format!("{}: {error}", escaped_path(path)))?;
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut counts = Distractors::default();
    for entry in archive.entries().map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let is_skill = entry.path().is_ok_and(|path| path.file_name().is_some_and(|name| name == "SKILL.md"));
        if !is_skill {
            continue;
        }
        let mut bytes = Vec::new();
        entry.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(wrong)?;
        let parsed =
            (bytes.len() <= FILE_BYTES_MAX).then(|| admit(&bytes, &Overrides::default()).playbook).flatten();
        let Some(parsed) = parsed else {
            counts.refused += 1;
            continue;
        };
        // A distractor competes by what it says, not by triggers, which the corpus has none of.
        let at = corpus.playbooks.len();
        let title = Some(parsed.title().to_owned());
        let parts = PlaybookParts {
            title,
            body: parsed.body().to_owned(),
            ..PlaybookParts::new(slug(at)?, parsed.description().to_owned())
        };
        let Ok(playbook) = Playbook::new(parts) else {
            counts.refused += 1;
            continue;
        };
        let own = marks(&playbook);
        if own.iter().any(|mark| known.contains(mark)) {
            counts.equal += 1;
            continue;
        }
        known.extend(own);
        corpus.playbooks.push(Arc::new(playbook));
        counts.added += 1;
    }
    Ok(counts)
}

/// What makes two playbooks the same to a reader: name, description, body.
fn marks(playbook: &Playbook) -> Vec<Digest> {
    let name = playbook.title().to_lowercase().replace(['-', '_'], " ");
    [("name", name.trim()), ("description", playbook.description().trim()), ("body", playbook.body().trim())]
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(kind, text)| Digest::of_parts([kind.as_bytes(), text.as_bytes()]))
        .collect()
}

/// The turns of a set, and of other domains.
pub(in crate::cli) fn labelled(
    queries: &Path,
    background: Option<&Path>,
    corpus: &Corpus,
    half: Half,
) -> Result<Turns, String> {
    let mut lines = turns(queries)?;
    if let Some(background) = background {
        let outside = turns(background)?.into_iter();
        lines.extend(outside.map(|line| QueryLine {
            relevant: Vec::new(),
            negative_for: Vec::new(),
            ..line
        }));
    }
    let mut turns = Turns::default();
    for line in lines.into_iter().filter(|line| !line.maybe_deferred && is_in(half, &line.id)) {
        let id = escaped(&line.id, 80);
        match label(line, corpus) {
            Ok(labelled) => turns.asked.push(labelled),
            Err(why) => {
                turns.left_out += 1;
                turns.first_left_out.get_or_insert_with(|| format!("\"{id}\": {why}"));
            }
        }
    }
    if turns.asked.is_empty() {
        let why = turns.first_left_out.map_or_else(String::new, |first| format!("; the first, {first}"));
        return Err(format!("{}: holds no turns that can be asked{why}", escaped_path(queries)));
    }
    Ok(turns)
}

fn turns(path: &Path) -> Result<Vec<QueryLine>, String> {
    let lines: Vec<QueryLine> = json_lines(path, "a turn is a line like {\"id\": \"..\", \"text\": \"..\"}")?;
    if lines.is_empty() {
        return Err(format!("{}: holds no turns", escaped_path(path)));
    }
    Ok(lines)
}

/// What a line says, or why it cannot be asked.
fn label(line: QueryLine, corpus: &Corpus) -> Result<Labelled, String> {
    let places =
        |ids: &[String]| ids.iter().filter_map(|id| corpus.places.get(id).copied()).collect::<Vec<_>>();
    let (relevant, negative) = (places(&line.relevant), places(&line.negative_for));
    if let (true, Some(unknown)) = (relevant.is_empty(), line.relevant.first()) {
        return Err(format!("its relevant playbook \"{}\" is not in the corpus", escaped(unknown, 80)));
    }
    let said = line.context.into_iter().map(|line| match line {
        ContextLine::Text(text) | ContextLine::Said { text } => text,
    });
    let said: Vec<String> = said.filter(|text| !text.trim().is_empty()).collect();
    let recent = said[said.len().saturating_sub(CONTEXT_TURNS)..].to_vec();
    let query = MenuQuery::new(line.text).and_then(|query| query.with_recent(recent));
    let query = query.map_err(|error| error.to_string())?;
    let kind = line.kind.map(Arc::from);
    Ok(Labelled { query, relevant, negative, names_skill: line.names_skill, kind })
}

fn is_in(half: Half, id: &str) -> bool {
    let is_reported = Digest::of_bytes(id.as_bytes()).bytes()[0] & 1 == 1;
    match half {
        Half::All => true,
        Half::Tune => !is_reported,
        Half::Report => is_reported,
    }
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Ids {
        None,
        One(String),
        Many(Vec<String>),
    }
    Ok(match Ids::deserialize(deserializer)? {
        Ids::None => Vec::new(),
        Ids::One(id) => vec![id],
        Ids::Many(ids) => ids,
    })
}

/// The values of a file of JSON lines; `wanted` says what a line should be.
fn json_lines<T: for<'a> Deserialize<'a>>(path: &Path, wanted: &str) -> Result<Vec<T>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", escaped_path(path)))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let wrong = |at: usize, error: &serde_json::Error| {
        let (line, message) = (at + 1, error.to_string());
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        let place = format!("{} line {line}, column {}", escaped_path(path), error.column());
        format!("{place}: {}; {wanted}", escaped(what, 200))
    };
    lines.map(|(at, line)| serde_json::from_str(line).map_err(|error| wrong(at, &error))).collect()
}
