//! A turn, asked about: everything that selection needs to know, checked.

use super::limits::{
    ALLOWED_SLUGS_MAX, MENU_ITEMS_DEFAULT, MENU_ITEMS_MAX, RECENT_TURNS_MAX, TURN_BYTES_MAX,
};
use super::slug::Slug;
use super::text;

/// A turn with its circumstances, within the limits.
#[derive(Clone, Debug)]
pub struct MenuQuery {
    turn: String,
    recent: Vec<String>,
    limit: Option<usize>,
    allowed: Vec<Slug>,
    explain: bool,
}

/// A field that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The field's name in the contract.
    pub field: &'static str,
    /// A sentence that names the limit.
    pub message: String,
}

impl MenuQuery {
    /// A query for `turn` alone, with the default limit.
    ///
    /// # Errors
    /// A turn that is blank or over its limit in bytes.
    pub fn new(turn: impl Into<String>) -> Result<Self, QueryError> {
        let turn = turn.into();
        let refuse = |message| Err(QueryError { field: "text", message });
        if turn.trim().is_empty() {
            return refuse("the turn is empty: send what the user wrote".to_owned());
        }
        if turn.len() > TURN_BYTES_MAX {
            return refuse(format!("the turn has {} bytes, the limit is {TURN_BYTES_MAX}", turn.len()));
        }
        Ok(Self { turn, recent: Vec::new(), limit: None, allowed: Vec::new(), explain: false })
    }

    /// Adds earlier turns, oldest first.
    ///
    /// # Errors
    /// Too many of them, or one over the limit of a turn.
    pub fn with_recent(mut self, recent: Vec<String>) -> Result<Self, QueryError> {
        let refuse = |message| Err(QueryError { field: "recent", message });
        if recent.len() > RECENT_TURNS_MAX {
            return refuse(format!(
                "there are {} recent turns, the limit is {RECENT_TURNS_MAX}",
                recent.len()
            ));
        }
        if let Some((index, turn)) = recent.iter().enumerate().find(|(_, turn)| turn.len() > TURN_BYTES_MAX) {
            return refuse(format!(
                "recent turn {} has {} bytes, the limit is {TURN_BYTES_MAX}",
                index + 1,
                turn.len()
            ));
        }
        self.recent = recent;
        Ok(self)
    }

    /// Sets how many items the menu may have; 0 means the default.
    ///
    /// # Errors
    /// More than the maximum.
    pub fn with_limit(mut self, limit: usize) -> Result<Self, QueryError> {
        if limit > MENU_ITEMS_MAX {
            let message = format!(
                "the limit is {limit}, at most {MENU_ITEMS_MAX} is possible; 0 means {MENU_ITEMS_DEFAULT}"
            );
            return Err(QueryError { field: "limit", message });
        }
        self.limit = (limit > 0).then_some(limit);
        Ok(self)
    }

    /// Restricts the menu to these slugs; none means no restriction.
    ///
    /// # Errors
    /// Too many of them, or one that breaks the name rule.
    pub fn with_allowed(mut self, allowed: &[String]) -> Result<Self, QueryError> {
        let refuse = |message| QueryError { field: "allowed_slugs", message };
        if allowed.len() > ALLOWED_SLUGS_MAX {
            return Err(refuse(format!(
                "there are {} slugs, the limit is {ALLOWED_SLUGS_MAX}",
                allowed.len()
            )));
        }
        self.allowed = allowed
            .iter()
            .map(|slug| Slug::parse(slug).map_err(|error| refuse(error.to_string())))
            .collect::<Result<_, _>>()?;
        self.allowed.sort();
        Ok(self)
    }

    /// Asks for the reasons.
    #[must_use]
    pub fn with_explain(mut self, explain: bool) -> Self {
        self.explain = explain;
        self
    }

    /// The turn.
    #[must_use]
    pub fn turn(&self) -> &str {
        &self.turn
    }

    /// Earlier turns, oldest first.
    #[must_use]
    pub fn recent(&self) -> &[String] {
        &self.recent
    }

    /// How many items relevance may fill the menu up to.
    #[must_use]
    pub fn top_up_limit(&self) -> usize {
        self.limit.unwrap_or(MENU_ITEMS_DEFAULT)
    }

    /// How many items the menu may have in all.
    #[must_use]
    pub fn menu_limit(&self) -> usize {
        self.limit.unwrap_or(MENU_ITEMS_MAX)
    }

    /// Whether the caller lets this playbook on the menu. Logarithmic in the number of allowed slugs.
    #[must_use]
    pub fn allows(&self, slug: &Slug) -> bool {
        self.allowed.is_empty() || self.allowed.binary_search(slug).is_ok()
    }

    /// The slugs that the menu is restricted to, sorted; none means no restriction.
    #[must_use]
    pub fn allowed(&self) -> &[Slug] {
        &self.allowed
    }

    /// Whether reasons are wanted.
    #[must_use]
    pub fn explain(&self) -> bool {
        self.explain
    }
}

/// Checks a run id or a turn id: 1 to 128 printable ASCII characters.
///
/// # Errors
/// The field's name and a sentence that names the rule.
pub fn check_caller_id(field: &'static str, id: &str) -> Result<(), QueryError> {
    let max = super::limits::CALLER_ID_CHARS_MAX;
    if id.is_empty() {
        return Err(QueryError { field, message: "is empty: leave it out or give an id".to_owned() });
    }
    if id.len() > max {
        return Err(QueryError { field, message: format!("has {} bytes, the limit is {max}", id.len()) });
    }
    if !id.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        let message = format!("\"{}\" may hold only printable ASCII characters", text::escaped(id, 40));
        return Err(QueryError { field, message });
    }
    Ok(())
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for QueryError {}
