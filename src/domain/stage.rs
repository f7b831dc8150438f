//! The steps of a selection, whose times are measured.

/// A step. In the order in which a call goes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The message becomes a query, and the answer a message.
    Convert,
    /// A permit is taken.
    Admit,
    /// The turn is embedded; or waited for, where the model takes milliseconds.
    Embed,
    /// The turn is folded and triggers are looked for.
    Trigger,
    /// BM25.
    Lexical,
    /// The neighbours of the turn.
    Nearest,
    /// Evidence becomes probabilities, and those a menu.
    Judge,
    /// Block, tool and token are made.
    Sign,
}

impl Stage {
    /// Every step.
    pub const ALL: [Self; 8] = [
        Self::Convert,
        Self::Admit,
        Self::Embed,
        Self::Trigger,
        Self::Lexical,
        Self::Nearest,
        Self::Judge,
        Self::Sign,
    ];

    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Convert => "convert",
            Self::Admit => "admit",
            Self::Embed => "embed",
            Self::Trigger => "trigger",
            Self::Lexical => "lexical",
            Self::Nearest => "nearest",
            Self::Judge => "judge",
            Self::Sign => "sign",
        }
    }
}
