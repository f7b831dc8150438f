//! What selection keeps of a playbook, made once for equal content.
//!
//! **Invariants**: equal playbooks are one in memory, whatever agents and snapshots hold them; a vector belongs to a model
//! and a text, so that an edit embeds what it changed, and a model never meets another's vectors. What no snapshot holds
//! any more is forgotten. **Threads**: shared by all builds; the maps are locked for look-ups alone.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::embed::{EmbedError, Embedder, ModelId, Vector, normalize};
use super::lexical::{self, TermCounts};
use super::numbers::add_weighted;
use crate::compute;
use crate::domain::digest::Digest;
use crate::domain::playbook::Playbook;
use crate::domain::text::prefix_bytes;

/// Bytes of a body's opening that its vector is made from.
const OPENING_BYTES: usize = 1_000;

/// The weights of the parts of a playbook's vector. Measured on three public sets of real skills, the cosine alone put the
/// right one among three in 75, 85 and 52% of the turns; one vector of all the text together in 78, 73 and 50%.
const DESCRIPTION_WEIGHT: f32 = 1.0;
const TITLE_WEIGHT: f32 = 0.3;
const OPENING_WEIGHT: f32 = 0.4;

/// Playbooks that are embedded between two reports of progress.
const PLAYBOOKS_BATCH: usize = 128;

/// Texts with their weights in a vector.
type Pieces = [(String, f32); 3];

/// A playbook with its terms and its vector.
#[derive(Debug)]
pub struct Content {
    playbook: Arc<Playbook>,
    terms: TermCounts,
    /// None when it holds no token of the model, or the model failed.
    vector: Option<Vector>,
}

/// All contents that some snapshot holds.
#[derive(Debug)]
pub struct Contents {
    embedder: Arc<dyn Embedder>,
    known: Mutex<HashMap<Digest, Weak<Content>>>,
    vectors: Mutex<KnownVectors>,
}

/// Vectors by the model and the text that they were made by and from.
type KnownVectors = HashMap<(ModelId, Digest), Weak<[f32]>>;

/// The contents of some playbooks, and whether the model failed on them.
#[derive(Debug)]
pub struct Gathered {
    /// In the order of the playbooks.
    pub contents: Vec<Arc<Content>>,
    /// Why the new ones among them have no vectors.
    pub failure: Option<EmbedError>,
    /// The vectors that were made for it, by the digest of what they were made from.
    pub made: Made,
}

/// Vectors that were made, by the digest of what they were made from.
pub type Made = Vec<(Digest, Vector)>;

impl Content {
    /// The playbook.
    #[must_use]
    pub fn playbook(&self) -> &Arc<Playbook> {
        &self.playbook
    }

    /// Its terms.
    #[must_use]
    pub fn terms(&self) -> &TermCounts {
        &self.terms
    }

    /// Its vector.
    #[must_use]
    pub fn vector(&self) -> Option<&Vector> {
        self.vector.as_ref()
    }
}

impl Contents {
    /// None yet, with the model that will embed them.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, known: Mutex::default(), vectors: Mutex::default() }
    }

    /// The model.
    #[must_use]
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// What the vectors of these playbooks are made from, by digest: a store keeps vectors by it.
    #[must_use]
    pub fn texts(playbooks: &[Arc<Playbook>]) -> Vec<Digest> {
        compute::map(playbooks, |playbook| digest_of(&pieces(playbook)))
    }

    /// Makes vectors known that were made before. They are forgotten with the last of what is returned and of the contents
    /// that hold them.
    #[must_use = "what is not held is forgotten at once"]
    pub fn remember_vectors(&self, made: Made) -> Vec<Vector> {
        let id = self.embedder.about().id;
        remember(&self.vectors, made.iter().map(|(text, vector)| ((id, *text), Arc::downgrade(vector))));
        made.into_iter().map(|(_, vector)| vector).collect()
    }

    /// The contents of these playbooks: known ones as they are, others made now, in parallel. `progress` is told how many
    /// of how many new ones are embedded.
    pub fn gather(&self, playbooks: &[Arc<Playbook>], progress: &dyn Fn(usize, usize)) -> Gathered {
        let mut contents: Vec<Option<Arc<Content>>> = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            playbooks.iter().map(|playbook| known.get(&playbook.digest())?.upgrade()).collect()
        };
        let missing = contents.iter().zip(playbooks).filter(|(content, _)| content.is_none());
        let new: Vec<&Arc<Playbook>> = missing.map(|(_, playbook)| playbook).collect();
        let terms = compute::map(&new, |playbook| lexical::count(playbook));
        let (vectors, made, failure) = self.embed(&new, progress);
        let built = new.iter().zip(terms).zip(vectors).map(|((playbook, terms), vector)| {
            Arc::new(Content { playbook: Arc::clone(playbook), terms, vector })
        });
        let mut built = built.collect::<Vec<_>>().into_iter();
        for content in contents.iter_mut().filter(|content| content.is_none()) {
            *content = built.next();
        }
        let contents: Vec<_> = contents.into_iter().flatten().collect();
        if failure.is_none() {
            remember(&self.known, contents.iter().map(|c| (c.playbook.digest(), Arc::downgrade(c))));
        }
        Gathered { contents, failure, made }
    }

    /// The vectors of new playbooks, those of them that were computed, and what went wrong.
    fn embed(
        &self,
        new: &[&Arc<Playbook>],
        progress: &dyn Fn(usize, usize),
    ) -> (Vec<Option<Vector>>, Made, Option<EmbedError>) {
        let pieces = compute::map(new, |playbook| pieces(playbook));
        let keys: Vec<_> = pieces.iter().map(|pieces| self.key(pieces)).collect();
        let mut vectors: Vec<Option<Vector>> = {
            let known = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
            keys.iter().map(|key| known.get(key)?.upgrade()).collect()
        };
        let missing: Vec<usize> = (0..new.len()).filter(|at| vectors[*at].is_none()).collect();
        let mut embedded = 0;
        for batch in missing.chunks(PLAYBOOKS_BATCH) {
            let batch_pieces: Vec<&Pieces> = batch.iter().map(|at| &pieces[*at]).collect();
            match self.embed_batch(&batch_pieces) {
                Ok(made) => batch.iter().zip(made).for_each(|(at, vector)| vectors[*at] = vector),
                Err(failure) => return (vec![None; new.len()], Vec::new(), Some(failure)),
            }
            embedded += batch.len();
            progress(embedded, missing.len());
        }
        self.share(&keys, &mut vectors);
        let made = missing.iter().filter_map(|at| Some((keys[*at].1, vectors[*at].clone()?))).collect();
        (vectors, made, None)
    }

    /// The sum of the vectors of a playbook's pieces by their weights, at unit length.
    fn embed_batch(&self, batch: &[&Pieces]) -> Result<Vec<Option<Vector>>, EmbedError> {
        let texts: Vec<&str> =
            batch.iter().flat_map(|pieces| pieces.iter().map(|(text, _)| text.as_str())).collect();
        let mut embedded = self.embedder.embed(&texts)?.into_iter();
        let combined = batch.iter().map(|pieces| {
            let mut sum = vec![0.0; self.embedder.about().dimensions];
            for ((_, weight), vector) in pieces.iter().zip(&mut embedded) {
                if let Some(vector) = vector {
                    add_weighted(&mut sum, *weight, &vector);
                }
            }
            Ok(normalize(&mut sum)?.then(|| Vector::from(sum)))
        });
        combined.collect()
    }

    /// Makes vectors of one text one vector.
    fn share(&self, keys: &[(ModelId, Digest)], vectors: &mut [Option<Vector>]) {
        let mut first: HashMap<&(ModelId, Digest), Vector> = HashMap::new();
        for (key, vector) in keys.iter().zip(vectors) {
            if let Some(vector) = vector {
                *vector = Arc::clone(first.entry(key).or_insert_with(|| Arc::clone(vector)));
            }
        }
        remember(&self.vectors, first.into_iter().map(|(key, vector)| (*key, Arc::downgrade(&vector))));
    }

    fn key(&self, pieces: &Pieces) -> (ModelId, Digest) {
        (self.embedder.about().id, digest_of(pieces))
    }
}

/// Adds entries, and drops those that nobody holds when the map would have to grow.
fn remember<K: Eq + Hash, T: ?Sized>(
    map: &Mutex<HashMap<K, Weak<T>>>,
    entries: impl Iterator<Item = (K, Weak<T>)>,
) {
    let mut map = map.lock().unwrap_or_else(PoisonError::into_inner);
    for (key, entry) in entries {
        if map.len() == map.capacity() {
            map.retain(|_, held| held.strong_count() > 0);
        }
        map.insert(key, entry);
    }
}

fn digest_of(pieces: &Pieces) -> Digest {
    Digest::of_parts(pieces.iter().map(|(text, _)| text.as_bytes()))
}

/// What a playbook's vector is made from: title, description and triggers together, the title again by itself, and the
/// opening of the body.
fn pieces(playbook: &Playbook) -> Pieces {
    let mut about = format!("{}. {}", playbook.title(), playbook.description_line());
    for trigger in playbook.triggers() {
        about.push_str("; ");
        about.push_str(trigger);
    }
    let opening = prefix_bytes(playbook.body(), OPENING_BYTES).to_owned();
    [(about, DESCRIPTION_WEIGHT), (playbook.title().to_owned(), TITLE_WEIGHT), (opening, OPENING_WEIGHT)]
}
