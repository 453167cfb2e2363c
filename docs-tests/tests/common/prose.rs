//! Finds phrases to avoid and long sentences, in Markdown pages and in the comments of Rust files.

use super::sentences::{inner_end, without_code_and_targets};

/// Phrases to avoid, and what to write instead.
const AVOIDED: &[(&[&str], &str)] = &[
    (
        &["those that", "those who", "of which", "whoever"],
        "name the noun: \"queued commands count\", \"a thread that observes epoch n\"",
    ),
    (
        &["nobody", "somebody"],
        "name the thread, the caller or the client",
    ),
    (
        &["so many", "as many", "such a", "such an"],
        "repeat the noun or the number",
    ),
    (
        &["go on", "goes on", "went on", "going on", "gone on"],
        "continues, keeps running, extends",
    ),
    (&["but that"], "except that; or two sentences"),
    (&["anew"], "again, from the start, is reset"),
    (&["under way"], "in progress, in flight, pending"),
    (
        &["meanwhile"],
        "during X, concurrently, in the time between X and Y",
    ),
    (
        &[
            "takes away",
            "take away",
            "taken away",
            "took away",
            "takes it away",
            "take it away",
            "takes them away",
            "take them away",
        ],
        "deletes, removes, evicts",
    ),
    (
        &["to be had", "can be had", "cannot be had"],
        "is available, is possible",
    ),
    (
        &["stands in", "stand in", "stood in", "standing in"],
        "is in, is set in, replaces",
    ),
    (
        &["comes from outside", "come from outside"],
        "name the source: the caller, the network, a file",
    ),
    (
        &["is told", "are told", "was told", "were told", "be told"],
        "receives, learns, is notified; or say who reports what",
    ),
    (&["foreseen"], "predicted, expected"),
    (&["file of commands"], "AOF"),
    (&["unhurried"], "long, thorough"),
    (
        &[
            "busy neighbours",
            "neighbours are busy",
            "neighbours were busy",
        ],
        "noisy machine",
    ),
    (&["lent"], "with guira's hasher"),
];

/// A sentence of more words than this is long.
const LONG: usize = 30;

/// A phrase to avoid, in a line counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) line: usize,
    pub(crate) phrase: &'static str,
    pub(crate) advice: &'static str,
}

/// The findings in the text of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    pub(crate) avoided: Vec<Finding>,
    /// The lines in which long sentences begin.
    pub(crate) long: Vec<usize>,
}

pub(crate) fn in_markdown(text: &str) -> Findings {
    find(&markdown_blocks(text))
}

/// Reads only comments, including doc comments.
pub(crate) fn in_rust(text: &str) -> Findings {
    find(&comment_blocks(text))
}

/// Consecutive lines. A phrase or a sentence may span several of them.
#[derive(Default)]
struct Block {
    text: String,
    /// The position in `text` at which each line begins, and its number.
    lines: Vec<(usize, usize)>,
    /// Cells of a table are rarely sentences.
    is_table: bool,
}

impl Block {
    fn push(&mut self, number: usize, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(&without_code_and_targets(line.trim()));
    }

    fn line_at(&self, offset: usize) -> usize {
        let after = self.lines.partition_point(|&(start, _)| start <= offset);
        self.lines[after - 1].1
    }
}

fn find(blocks: &[Block]) -> Findings {
    let mut findings = Findings::default();
    for block in blocks {
        let text = block.text.to_ascii_lowercase();
        for &(phrases, advice) in AVOIDED {
            for &phrase in phrases {
                let offsets = offsets(&text, phrase);
                findings.avoided.extend(offsets.map(|offset| Finding {
                    line: block.line_at(offset),
                    phrase,
                    advice,
                }));
            }
        }
        if !block.is_table {
            let long = sentences(&block.text).filter(|(_, sentence)| words(sentence) > LONG);
            findings
                .long
                .extend(long.map(|(offset, _)| block.line_at(offset)));
        }
    }
    findings.avoided.sort_by_key(|finding| finding.line);
    findings
}

/// The positions of `phrase` as whole words, except in the idioms of [`is_good`].
fn offsets<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase)
        .map(|(offset, _)| offset)
        .filter(move |&offset| {
            let (before, after) = (&text[..offset], &text[offset + phrase.len()..]);
            let is_part = before.ends_with(is_word) || after.starts_with(is_word);
            !is_part && !is_good(phrase, after)
        })
}

/// `as many items as` compares, and `cannot be told apart` is an idiom.
fn is_good(phrase: &str, after: &str) -> bool {
    match phrase {
        "as many" => after.split(' ').take(5).any(|word| word == "as"),
        _ => phrase.ends_with("told") && after.starts_with(" apart"),
    }
}

/// The sentences of a text, and the position of each.
fn sentences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text[start..].trim_start();
        start = text.len() - rest.len();
        let sentence = &rest[..inner_end(rest).unwrap_or(rest.len())];
        let begin = start;
        start += sentence.len();
        (!sentence.is_empty()).then_some((begin, sentence))
    })
}

fn words(sentence: &str) -> usize {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    sentence.split_whitespace().filter(is_word).count()
}

/// Paragraphs, list items, headings and rows of tables, without blocks of code.
fn markdown_blocks(text: &str) -> Vec<Block> {
    let mut blocks = vec![Block::default()];
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start().trim_start_matches('>').trim_start();
        let is_fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        in_code ^= is_fence;
        let is_table = trimmed.starts_with('|');
        let begins = trimmed.is_empty() || is_table || trimmed.starts_with(['#', '-', '*', '+']);
        let after_table = blocks.last().is_some_and(|block| block.is_table);
        if begins || is_fence || after_table {
            blocks.push(Block {
                is_table,
                ..Block::default()
            });
        }
        if !(in_code || is_fence || trimmed.is_empty()) {
            blocks
                .last_mut()
                .expect("at least one block")
                .push(number, trimmed);
        }
    }
    blocks.retain(|block| !block.lines.is_empty());
    blocks
}

/// The comments of a Rust file as Markdown. Adjacent lines of one kind form one comment.
fn comment_blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut comment = String::new();
    let mut first = 0;
    let mut kind = "";
    let mut flush = |comment: &mut String, first: usize| {
        let mut found = markdown_blocks(comment);
        for (_, line) in found.iter_mut().flat_map(|block| &mut block.lines) {
            *line += first - 1;
        }
        blocks.append(&mut found);
        comment.clear();
    };
    for (number, line) in (1..).zip(text.lines()) {
        let (new_kind, words) = comment_of(line);
        if new_kind != kind {
            flush(&mut comment, first);
            first = number;
            kind = new_kind;
        }
        if kind.is_empty() {
            continue;
        }
        comment.push_str(words);
        comment.push('\n');
        // A comment behind code consists of one line.
        if kind == TRAILING {
            kind = "";
            flush(&mut comment, first);
        }
    }
    flush(&mut comment, first);
    blocks
}

const TRAILING: &str = " //";

/// The kind of the comment in a line, or `""`, and the text of the comment.
fn comment_of(line: &str) -> (&'static str, &str) {
    let trimmed = line.trim_start();
    let kinds = ["//!", "///", "//"];
    let leading = kinds
        .iter()
        .find_map(|&kind| Some((kind, trimmed.strip_prefix(kind)?)));
    // `" // "` inside a string literal would follow an odd number of quotation marks.
    let trailing = || {
        let (code, words) = trimmed.split_once(" // ")?;
        let is_string = code.matches('"').count() % 2 == 1;
        (!is_string).then_some((TRAILING, words))
    };
    leading.or_else(trailing).unwrap_or(("", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn avoided(findings: &Findings) -> Vec<(usize, &str)> {
        let found = findings.avoided.iter();
        found
            .map(|finding| (finding.line, finding.phrase))
            .collect()
    }

    #[test]
    fn phrases_are_found_in_markdown() {
        let text = "# Who goes on\n\nThose that wait.\nNobody\nis told.\n\n| so many | a |\n";
        let expected = [
            (1, "goes on"),
            (3, "those that"),
            (4, "nobody"),
            (5, "is told"),
            (7, "so many"),
        ];
        assert_eq!(avoided(&in_markdown(text)), expected);
        let over_two_lines = in_markdown("A filter is\ntold.\n");
        assert_eq!(avoided(&over_two_lines), [(1, "is told")]);
    }

    #[test]
    fn only_whole_words_outside_of_code_count() {
        for text in [
            "The soil is toldu; excellent; anewt.\n",
            "`nobody` and [a link](nobody.md).\n",
            "```text\nnobody\n```\n",
            "At least as many as before, and as many items as possible.\n",
            "They cannot be told apart.\n",
        ] {
            assert_eq!(avoided(&in_markdown(text)), [], "{text}");
        }
        assert_eq!(avoided(&in_markdown("As many.\n")), [(1, "as many")]);
    }

    #[test]
    fn phrases_are_found_in_comments_only() {
        let text = "//! Begins anew.\n\n/// Those\n/// that wait.\nfn nobody() {} // goes\n\
                    // on\nlet x = \"a // nobody\";\nlet y = 1; // nobody\n";
        let expected = [(1, "anew"), (3, "those that"), (8, "nobody")];
        assert_eq!(avoided(&in_rust(text)), expected);
    }

    #[test]
    fn code_in_doc_comments_is_not_prose() {
        let text = "/// Example:\n///\n/// ```\n/// nobody();\n/// ```\n/// Whoever.\n";
        assert_eq!(avoided(&in_rust(text)), [(6, "whoever")]);
    }

    #[test]
    fn long_sentences_are_counted() {
        let thirty = ["word"; 30].join(" ");
        let text = format!("{thirty}.\nA {thirty}.\n\n| A {thirty} |\n- A {thirty}\n");
        assert_eq!(in_markdown(&text).long, [2, 5]);
        let text = format!("/// Short. A {thirty}.\n/// Short.\n// {thirty}\n");
        assert_eq!(in_rust(&text).long, [1]);
        let text = format!("/// Short.\n/// A word\n/// {thirty}.\n/// Short.\n");
        assert_eq!(in_rust(&text).long, [2]);
    }
}
