//! What part of a file a byte stands in. **Cost**: linear to build, a binary search to ask.

use std::ops::Range;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// Name, description or metadata: text that the model sees on every turn.
    Label,
    /// The rest of the frontmatter.
    Frontmatter,
    /// Words.
    Prose,
    /// A code block.
    Code,
    /// A comment that a rendered page does not show.
    Comment,
    /// The target of a link.
    Link,
}

impl Region {
    /// The region as a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Label | Self::Frontmatter => "frontmatter",
            Self::Prose => "prose",
            Self::Code => "code",
            Self::Comment => "comment",
            Self::Link => "link",
        }
    }
}

/// The parts of a file, and its lines.
pub(super) struct Regions {
    /// In order, without overlap; what lies between is prose.
    spans: Vec<(Range<usize>, Region)>,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Where the body begins.
    pub(super) body: usize,
}

impl Regions {
    pub(super) fn of(text: &str) -> Self {
        let mut lines = vec![0];
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            let is_end = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
            if is_end && at + 1 < bytes.len() {
                lines.push(at + 1);
            }
        }
        let mut regions = Self { spans: Vec::new(), lines, body: 0 };
        let body_line = regions.frontmatter(text);
        regions.body = regions.lines.get(body_line).copied().unwrap_or(text.len());
        regions.blocks(text, body_line);
        regions
    }

    pub(super) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// A line by its index, without its ending.
    pub(super) fn line<'a>(&self, text: &'a str, index: usize) -> &'a str {
        let end = self.lines.get(index + 1).copied().unwrap_or(text.len());
        text[self.lines[index]..end].trim_end_matches(['\n', '\r'])
    }

    pub(super) fn line_start(&self, index: usize) -> usize {
        self.lines[index]
    }

    /// The index of the line that holds a byte.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).saturating_sub(1)
    }

    pub(super) fn at(&self, at: usize) -> Region {
        self.span(at).map_or(Region::Prose, |(_, region)| *region)
    }

    /// Where the span begins that holds a byte.
    pub(super) fn start_of(&self, at: usize) -> Option<usize> {
        self.span(at).map(|(range, _)| range.start)
    }

    fn span(&self, at: usize) -> Option<&(Range<usize>, Region)> {
        let after = self.spans.partition_point(|(range, _)| range.start <= at);
        self.spans[..after].last().filter(|(range, _)| range.contains(&at))
    }

    /// The comments, in order.
    pub(super) fn comments(&self) -> impl Iterator<Item = Range<usize>> {
        self.spans.iter().filter(|(_, region)| *region == Region::Comment).map(|(range, _)| range.clone())
    }

    /// Takes the lines of the frontmatter; gives the index of the body's first line.
    fn frontmatter(&mut self, text: &str) -> usize {
        let is_fence = |line: &str| line.trim_start_matches('\u{FEFF}').trim_end() == "---";
        let count = self.lines.len();
        let Some(open) = (0..count).find(|index| {
            let line = self.line(text, *index);
            !line.trim_start_matches('\u{FEFF}').trim().is_empty()
        }) else {
            return 0;
        };
        if !is_fence(self.line(text, open)) {
            return 0;
        }
        let mut region = Region::Frontmatter;
        let mut start = self.lines[open];
        for index in open + 1..count {
            let line = self.line(text, index);
            let here = self.lines[index];
            if is_fence(line) {
                self.spans.push((start..here + line.len(), region));
                return index + 1;
            }
            if line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"' || c == '\'') {
                let key = line.trim_start_matches(['"', '\'']);
                let is_label = ["name", "description", "metadata"].iter().any(|label| key.starts_with(label));
                let next = if is_label { Region::Label } else { Region::Frontmatter };
                self.spans.push((start..here, region));
                (start, region) = (here, next);
            }
        }
        self.spans.push((start..text.len(), region));
        count
    }

    /// Finds code blocks and comments in the body.
    fn blocks(&mut self, text: &str, body_line: usize) {
        let mut fence: Option<(usize, u8, usize)> = None;
        let mut comment: Option<usize> = None;
        for index in body_line..self.lines.len() {
            let (start, line) = (self.lines[index], self.line(text, index));
            if let Some(opened) = comment {
                if let Some(end) = line.find("-->") {
                    self.spans.push((opened..start + end + 3, Region::Comment));
                    comment = None;
                }
                continue;
            }
            let mark = fence_mark(line);
            match (fence, mark) {
                (Some((opened, byte, length)), Some((closing, count, rest)))
                    if closing == byte && count >= length && rest.trim().is_empty() =>
                {
                    self.spans.push((opened..start + line.len(), Region::Code));
                    fence = None;
                }
                (None, Some((byte, count, rest))) if byte == b'~' || !rest.contains('`') => {
                    fence = Some((start, byte, count));
                }
                (Some(_), _) => {}
                (None, _) => comment = self.inline(start, line),
            }
        }
        if let Some((opened, ..)) = fence {
            self.spans.push((opened..text.len(), Region::Code));
        }
        if let Some(opened) = comment {
            self.spans.push((opened..text.len(), Region::Comment));
        }
    }

    /// Finds comments and link targets on a line of prose; gives where a comment begins that does not end there.
    fn inline(&mut self, start: usize, line: &str) -> Option<usize> {
        if line.trim_start().starts_with("[//]:") || line.trim_start().starts_with("[comment]:") {
            self.spans.push((start..start + line.len(), Region::Comment));
            return None;
        }
        let mut at = 0;
        // Whether a link of this kind may still end on this line.
        let (mut round, mut angled) = (true, true);
        while let Some(found) = line[at..].find(['<', '(']) {
            let here = at + found;
            if line[here..].starts_with("<!--") {
                let Some(end) = line[here + 4..].find("-->") else { return Some(start + here) };
                self.spans.push((start + here..start + here + 7 + end, Region::Comment));
                at = here + 7 + end;
                continue;
            }
            let is_link = line[..here].ends_with(']') || line[here..].starts_with("<http");
            at = here + 1;
            let (close, ends) =
                if line.as_bytes()[here] == b'(' { (')', &mut round) } else { ('>', &mut angled) };
            if !is_link || !*ends {
                continue;
            }
            match line[here..].find([close, ' ']) {
                Some(end) => {
                    self.spans.push((start + here..start + here + end, Region::Link));
                    at = here + end;
                }
                // Nor does any behind it: a line of 30,000 brackets is looked through once.
                None => *ends = false,
            }
        }
        None
    }
}

/// The byte, count and rest of a line that may open or close a code block.
fn fence_mark(line: &str) -> Option<(u8, usize, &str)> {
    let trimmed = line.trim_start_matches([' ', '\t', '>']);
    let byte = *trimmed.as_bytes().first()?;
    let rest = trimmed.trim_start_matches(byte as char);
    let count = trimmed.len() - rest.len();
    (matches!(byte, b'`' | b'~') && count >= 3).then_some((byte, count, rest))
}
