//! Words that say nothing about a subject: no evidence, and no triggers. And turns that are about none.

/// Turns that no playbook should fire on, whatever its trade, one a line; written for this.
pub const NEUTRAL_TURNS: &str = include_str!("neutral.txt");

/// Words of English that say nothing about a subject, sorted.
#[rustfmt::skip]
pub const FUNCTION_WORDS: [&str; 97] = [
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "don", "for", "from",
    "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it",
    "its", "just", "ll", "m", "me", "my", "no", "not", "of", "on", "one", "or", "our", "out", "please",
    "re", "s", "she", "should", "so", "some", "t", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "too", "up", "us", "ve", "very", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "why", "will", "with", "would", "you", "your",
];
