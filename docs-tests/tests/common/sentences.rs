//! Finds lines of a Markdown text that are not one sentence each.

/// The error in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The line contains the end of a sentence and the beginning of the next one.
    TwoSentences,
    /// The sentence continues in the next line, or has no end.
    NoEnd,
}

/// A line that is not one sentence. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) line: usize,
    pub(crate) fault: Fault,
    /// The text around the error.
    pub(crate) excerpt: String,
}

/// A line of text, without its list or quotation marker.
struct Prose {
    line: usize,
    text: String,
    /// True for the first line of a list item.
    begins_item: bool,
}

/// Every line of `markdown` that is not one sentence. Code, tables, HTML, headings and pictures are
/// skipped. A list item of one line need not be a sentence.
pub(crate) fn findings(markdown: &str) -> Vec<Finding> {
    paragraphs(markdown)
        .iter()
        .flat_map(|paragraph| in_paragraph(paragraph))
        .collect()
}

fn in_paragraph(lines: &[Prose]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let text = without_code_and_targets(&line.text);
        let finding = |fault, at: usize| Finding {
            line: line.line,
            fault,
            excerpt: around(&text, at),
        };
        if let Some(at) = inner_end(&text) {
            found.push(finding(Fault::TwoSentences, at));
        }
        let is_fragment = lines.len() == 1 && line.begins_item;
        let is_last = index + 1 == lines.len();
        if !(is_fragment || ends_sentence(&text, is_last)) {
            found.push(finding(Fault::NoEnd, text.len()));
        }
    }
    found
}

/// The text around the byte `at`.
fn around(text: &str, at: usize) -> String {
    let near = |(index, _): &(usize, char)| index.abs_diff(at) <= 30;
    let characters = text.char_indices().filter(near);
    characters.map(|(_, character)| character).collect()
}

/// The runs of lines that are text. Each list item is a run of its own.
fn paragraphs(markdown: &str) -> Vec<Vec<Prose>> {
    let mut paragraphs: Vec<Vec<Prose>> = vec![Vec::new()];
    // The end marker of the current block of code or HTML.
    let mut until: Option<&str> = None;
    let mut in_list = false;
    for (number, line) in (1..).zip(markdown.lines()) {
        let text = line.trim();
        let run_is_empty = paragraphs.last().is_none_or(Vec::is_empty);
        let is_indented = line.starts_with("    ") || line.starts_with('\t');
        let begins =
            begins_block(text).filter(|&end| until.is_none() && (run_is_empty || !end.is_empty()));
        if let Some(end) = begins.or(until) {
            let is_over = match end {
                "" => text.is_empty(),
                "-->" => text.contains(end),
                fence => begins.is_none() && text.starts_with(fence),
            };
            until = (!is_over).then_some(end);
            paragraphs.push(Vec::new());
            continue;
        }
        let is_code = is_indented && run_is_empty && !in_list;
        let is_other = text.starts_with(['#', '|'])
            || is_rule(text)
            || is_definition(text)
            || is_picture(text);
        if text.is_empty() || is_code || is_other {
            in_list &= text.is_empty();
            paragraphs.push(Vec::new());
            continue;
        }
        let text = text.trim_start_matches(['>', ' ']);
        let item = after_bullet(text);
        if item.is_some() {
            paragraphs.push(Vec::new());
        }
        in_list = item.is_some() || (in_list && (!run_is_empty || line.starts_with(' ')));
        let prose = Prose {
            line: number,
            text: item.unwrap_or(text).to_owned(),
            begins_item: item.is_some(),
        };
        paragraphs.last_mut().expect("one at least").push(prose);
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

/// The end marker of the block of code or HTML that `text` begins. An HTML block ends with a blank
/// line.
fn begins_block(text: &str) -> Option<&'static str> {
    let marks = [("```", "```"), ("~~~", "~~~"), ("<!--", "-->")];
    let marked = marks.iter().find(|(begin, _)| text.starts_with(begin));
    let tag = text
        .strip_prefix('<')
        .map(|tag| tag.trim_start_matches('/'));
    // `<https://…>` is a link.
    let is_tag = tag.is_some_and(|tag| {
        tag.starts_with(|c: char| c.is_ascii_alphabetic()) && !tag.starts_with("http")
    });
    marked.map(|&(_, end)| end).or(is_tag.then_some(""))
}

fn is_rule(text: &str) -> bool {
    text.len() >= 3
        && ["-", "*", "_"]
            .iter()
            .any(|&c| text.replace([' '], "").replace(c, "").is_empty())
}

/// A definition such as `[name]: address`.
fn is_definition(text: &str) -> bool {
    text.starts_with('[')
        && text
            .split_once("]: ")
            .is_some_and(|(name, _)| !name.contains(' '))
}

/// The text after `- `, `* `, `+ ` or `1. `, and after the box of a task.
fn after_bullet(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = match digits.len() < text.len() {
        true => digits
            .strip_prefix(". ")
            .or_else(|| digits.strip_prefix(") ")),
        false => ["- ", "* ", "+ "]
            .iter()
            .find_map(|mark| text.strip_prefix(mark)),
    }?;
    let tasks = ["[ ] ", "[x] "];
    let task = tasks.iter().find_map(|mark| item.strip_prefix(mark));
    Some(task.unwrap_or(item).trim_start())
}

/// The text with code spans and link targets replaced, because punctuation in them ends no
/// sentence.
pub(crate) fn without_code_and_targets(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let skipped = match c {
            '`' => rest[ticks..]
                .find(&rest[..ticks])
                .map(|length| (2 * ticks + length, "`code`")),
            ']' if rest[1..].starts_with('(') => rest.find(')').map(|end| (end + 1, "]")),
            _ => None,
        };
        let (length, replacement) = skipped.unwrap_or((c.len_utf8(), &rest[..c.len_utf8()]));
        out.push_str(replacement);
        rest = &rest[length..];
    }
    out
}

/// A picture, or badges, which are pictures inside links.
fn is_picture(text: &str) -> bool {
    (text.starts_with("![") || text.starts_with("[![")) && text.ends_with(')')
}

/// Characters that may follow the mark that ends a sentence, before the space.
const CLOSERS: [char; 8] = [')', ']', '"', '\'', '*', '_', '”', '’'];

/// Abbreviations, which end with a full stop inside a sentence.
const ABBREVIATIONS: [&str; 6] = ["e.g.", "i.e.", "vs.", "cf.", "al.", "etc."];

/// A colon ends a line only at the end of the text, before a list, a table or code.
fn ends_sentence(text: &str, is_last: bool) -> bool {
    let text = text.trim_end_matches(CLOSERS);
    text.ends_with(['.', '!', '?', '…']) || (is_last && text.ends_with(':'))
}

/// The position at which a sentence ends and another one begins.
pub(crate) fn inner_end(text: &str) -> Option<usize> {
    text.match_indices(['.', '!', '?'])
        .map(|(at, mark)| at + mark.len())
        .find(|&end| {
            let after = text[end..].trim_start_matches(CLOSERS);
            let next = after.trim_start();
            after.len() > next.len() && !next.is_empty() && !is_abbreviation(&text[..end], next)
        })
}

/// True if `text` ends in an abbreviation, and the sentence continues with `next`.
fn is_abbreviation(text: &str, next: &str) -> bool {
    let word = text.rsplit(|c: char| c.is_whitespace() || c == '(').next();
    let may_end = ["etc.", "al."];
    let begins_another = next.starts_with(char::is_uppercase);
    word.is_some_and(|word| {
        ABBREVIATIONS.contains(&word) && !(may_end.contains(&word) && begins_another)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_a_line_is_right() {
        for text in [
            "One sentence.\nAnother one!\nA third (in brackets.)\nA fourth?\n",
            "A list follows:\n\n- one\n- two, and `a.b. C`\n- a whole sentence.\n  And its second one.\n",
            "Code follows:\n\n    indented. Code\n\n```text\nanything. At all\n```\n",
            "# A heading. With two\n\n| a. B | c |\n|---|---|\n| d. E | f. G |\n",
            "<!-- a comment. With two\n\nsentences -->\n<p>HTML. Too\nand more</p>\n\nText.\n",
            "Numbers such as 1.5, files such as x.rs, and e.g. this, i.e. that, vs. those, etc. all.\n",
            "See [the file](a.b. c) and `code. Code` of Fan et al. from 2014.\n",
            "*Emphasis ends here.*\n**And here**.\nHe said \"no.\"\n",
            "[![badge](a.svg)](b) ![badge. Two](c.svg)\n\n[name]: https://example.org\n",
            "1. First item\n2. Second item.\n   More of it.\n\n- [ ] a task\n",
            "> A quotation.\n> Its second sentence.\n",
            "- item\n\n  Its second paragraph.\n\n  ```\n  code. Code\n  ```\n",
        ] {
            assert_eq!(findings(text), [], "{text}");
        }
    }

    #[test]
    fn two_sentences_in_a_line_are_found() {
        for text in [
            "One. Two.\n",
            "One. guira is two.\n",
            "One! `code` is two.\n",
            "One (in brackets.) Two.\n",
            "It is in x.rs. Two.\n",
            "It costs 1.5. Two.\n",
            "See [this](a.md). Two.\n",
            "And so on, etc. Two.\n",
            "- One. Two.\n",
            "- **One.** Two.\n",
            "> One? Two.\n",
            "It is `code`. Two.\n",
        ] {
            let found = findings(text);
            let faults: Vec<_> = found
                .iter()
                .map(|found| (found.line, found.fault))
                .collect();
            assert_eq!(faults, [(1, Fault::TwoSentences)], "{text}");
        }
    }

    #[test]
    fn a_sentence_over_two_lines_is_found() {
        for (text, line) in [
            ("One sentence,\nwhich goes on.\n", 1),
            ("Right.\n\nOne sentence:\nwhich goes on.\n", 3),
            ("- an item\n  that goes on.\n", 1),
            ("- A sentence.\n  half of one\n", 2),
            ("No end\n", 1),
            ("No end, as what ends it is `code.`\n", 1),
            ("```text\ncode\n```\n\nNo end;\n", 5),
            ("<!-- comment -->\nNo end\n", 2),
            ("- item\n\nNo end\n", 3),
            ("It is (in brackets)\n", 1),
            ("> Half a\n> sentence.\n", 1),
        ] {
            let found = findings(text);
            let faults: Vec<_> = found
                .iter()
                .map(|found| (found.line, found.fault))
                .collect();
            assert_eq!(faults, [(line, Fault::NoEnd)], "{text}");
        }
    }

    #[test]
    fn a_finding_shows_the_place() {
        let [found] = &findings("Right.\nThis one ends. This one begins.\n")[..] else {
            panic!("one finding");
        };
        assert_eq!(found.line, 2);
        assert_eq!(found.excerpt, "This one ends. This one begins.");
    }
}
