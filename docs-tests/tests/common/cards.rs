//! The card at the top of a file that implements an operation.
//!
//! ```text
//! | promise | what the operation guarantees |
//! |---|---|
//! | how | DESIGN, section 4, "insert" |
//! | why | PROOF, section 5 (L1, L2), section 8 |
//! | checked by | insert, growth_insert |
//! | break it | `cargo xtask break ClaimUnchecked` |
//! ```

use std::collections::{BTreeMap, BTreeSet};

const KEYS: [&str; 5] = ["promise", "how", "why", "checked by", "break it"];

/// Everything that a card may refer to.
pub(crate) struct Facts {
    /// The text of each page, by its path below the root.
    pub(crate) pages: BTreeMap<String, String>,
    /// The negative controls of each file of models.
    pub(crate) controls: BTreeMap<String, BTreeSet<String>>,
}

/// The rows of the card of a Rust file, as keys and values. `None` if the file has no card.
pub(crate) fn card(text: &str) -> Option<Vec<(&str, &str)>> {
    let head = text.lines().map_while(|line| line.strip_prefix("//!"));
    let rows = head
        .map(str::trim)
        .skip_while(|line| !line.starts_with("| promise |"))
        .take_while(|line| line.starts_with('|'))
        .filter(|line| !line.starts_with("|--"));
    let rows: Vec<_> = rows
        .map(|row| {
            let row = row.trim_matches('|');
            let (key, value) = row.split_once('|').unwrap_or((row, ""));
            (key.trim(), value.trim())
        })
        .collect();
    (!rows.is_empty()).then_some(rows)
}

impl Facts {
    /// The errors in a card. There are none if everything that it refers to exists.
    pub(crate) fn complaints(&self, card: &[(&str, &str)]) -> Vec<String> {
        let keys: Vec<_> = card.iter().map(|&(key, _)| key).collect();
        if keys != KEYS {
            return vec![format!("its rows are {keys:?} instead of {KEYS:?}")];
        }
        let [
            (_, promise),
            (_, how),
            (_, why),
            (_, checked),
            (_, break_it),
        ] = card
        else {
            unreachable!("five keys");
        };
        let mut complaints = Vec::new();
        if promise.is_empty() {
            complaints.push("it promises nothing".to_owned());
        }
        complaints.extend(self.how(how).err());
        complaints.extend(self.why(why).err());
        complaints.extend(self.checked(checked, break_it).err());
        complaints
    }

    /// Checks `DESIGN, section 4, "insert"`, where the last part is optional, or `docs/page.md,
    /// "heading"`.
    fn how(&self, how: &str) -> Result<(), String> {
        let (page, place) = how.split_once(", ").ok_or(format!("how: {how:?}"))?;
        let path = match page {
            "DESIGN" => "docs/DESIGN.md",
            path => path,
        };
        let text = self.pages.get(path).ok_or(format!("no page {path}"))?;
        let (text, heading) = match place.strip_prefix("section ") {
            None => (text.as_str(), place),
            Some(place) => {
                let (number, heading) = place.split_once(", ").unwrap_or((place, ""));
                (
                    section(text, number).ok_or(no_section(page, number))?,
                    heading,
                )
            }
        };
        if heading.is_empty() {
            return Ok(());
        }
        let heading = heading.trim_matches('"');
        let is_there = headings(text).any(|found| found == heading);
        is_there
            .then_some(())
            .ok_or(format!("{page} has no heading {heading:?} there"))
    }

    /// Checks `PROOF, section 5 (L1, L2), section 8`: sections of the page or of those in
    /// `docs/proof/`, and headings of lemmas in them.
    fn why(&self, why: &str) -> Result<(), String> {
        let parts = why.strip_prefix("PROOF, ").ok_or(format!("why: {why:?}"))?;
        let is_proof = |page: &str| page == "docs/PROOF.md" || page.starts_with("docs/proof/");
        let pages = self.pages.iter().filter(|(page, _)| is_proof(page));
        let text: String = pages.map(|(_, text)| text.as_str()).collect();
        for part in parts.split("section ").skip(1) {
            let part = part.trim_end_matches(", ");
            let (number, lemmas) = part.split_once(" (").unwrap_or((part, ""));
            let section = section(&text, number).ok_or(no_section("PROOF", number))?;
            let lemmas = lemmas.trim_end_matches(')').split(", ");
            for lemma in lemmas.filter(|lemma| !lemma.is_empty()) {
                let prefix = format!("{lemma},");
                if !headings(section).any(|heading| heading.starts_with(&prefix)) {
                    return Err(format!("section {number} of PROOF has no {lemma}"));
                }
            }
        }
        let is_empty = !parts.starts_with("section ");
        if is_empty {
            Err(format!("why: {why:?}"))
        } else {
            Ok(())
        }
    }

    /// Checks the files of models, and that `cargo xtask break NAME` names a control of one of
    /// them.
    fn checked(&self, checked: &str, break_it: &str) -> Result<(), String> {
        let mut controls = BTreeSet::new();
        for model in checked.split(", ") {
            let of_model = self
                .controls
                .get(model)
                .ok_or(format!("no model {model:?}"))?;
            controls.extend(of_model);
        }
        let name = break_it.strip_prefix("`cargo xtask break ");
        let name = name.and_then(|name| name.strip_suffix('`'));
        let name = name.ok_or(format!("break it: {break_it:?}"))?;
        let is_control = controls.iter().any(|control| *control == name);
        is_control
            .then_some(())
            .ok_or(format!("{name} is no control of {checked}"))
    }
}

fn no_section(page: &str, number: &str) -> String {
    format!("{page} has no section {number}")
}

/// The text from the heading `## NUMBER. ` to the next heading of its level.
fn section<'a>(text: &'a str, number: &str) -> Option<&'a str> {
    let (_, text) = text.split_once(&format!("\n## {number}. "))?;
    Some(text.split("\n## ").next().expect("a part"))
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| line.starts_with("##"));
    lines.map(|line| line.trim_start_matches('#').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &str = "//! insert: adds.\n//!\n\
        //! | promise | a slot is claimed once |\n//! |---|---|\n\
        //! | how | DESIGN, section 4, \"insert\" |\n\
        //! | why | PROOF, section 5 (L1, L2), section 8 |\n\
        //! | checked by | insert, path |\n\
        //! | break it | `cargo xtask break ClaimUnchecked` |\n//!\n//! More.\n";

    fn facts() -> Facts {
        let page = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let controls = [("insert", vec!["ClaimUnchecked"]), ("path", vec![])];
        Facts {
            pages: BTreeMap::from([
                page(
                    "docs/DESIGN.md",
                    "\n## 4. Protocol\n### insert\n\n## 5. More\n### remove\n",
                ),
                page("docs/PROOF.md", "\n## 5. Lemmas\n### L1, a\n### L2, b\n"),
                page("docs/proof/end.md", "# End\n\n## 8. End\n"),
                page("docs/growth.md", "# Growth\n\n## Splitting\n"),
            ]),
            controls: BTreeMap::from(controls.map(|(model, names)| {
                (
                    model.to_owned(),
                    names.into_iter().map(str::to_owned).collect(),
                )
            })),
        }
    }

    fn complaints(text: &str) -> Vec<String> {
        facts().complaints(&card(text).expect("a card"))
    }

    #[test]
    fn a_card_is_found_at_the_top_only() {
        assert_eq!(card(CARD).expect("a card").len(), 5);
        assert_eq!(card("//! insert: adds.\n"), None);
        assert_eq!(card(&format!("use std::fmt;\n{CARD}")), None);
    }

    #[test]
    fn a_true_card_has_no_complaint() {
        assert_eq!(complaints(CARD), Vec::<String>::new());
        let page = CARD.replace(
            "DESIGN, section 4, \"insert\"",
            "docs/growth.md, \"Splitting\"",
        );
        assert_eq!(complaints(&page), Vec::<String>::new());
    }

    #[test]
    fn each_wrong_reference_is_a_complaint() {
        for (right, wrong, expected) in [
            ("section 4", "section 6", "DESIGN has no section 6"),
            // The heading exists in another section.
            ("\"insert\"", "\"remove\"", "no heading \"remove\""),
            (
                "DESIGN, section 4,",
                "docs/none.md,",
                "no page docs/none.md",
            ),
            ("section 8", "section 9", "PROOF has no section 9"),
            ("L2", "L7", "section 5 of PROOF has no L7"),
            ("PROOF, section 5 (L1, L2), section 8", "PROOF, L1", "why"),
            ("insert, path", "insert, nothing", "no model \"nothing\""),
            (
                "insert, path",
                "path",
                "ClaimUnchecked is no control of path",
            ),
            ("ClaimUnchecked", "NoSuchFault", "NoSuchFault is no control"),
            ("cargo xtask break", "ci/break.sh", "break it"),
            ("a slot is claimed once", "", "promises nothing"),
            ("| why |", "| reason |", "its rows are"),
        ] {
            let found = complaints(&CARD.replace(right, wrong));
            let is_expected = |complaint: &String| complaint.contains(expected);
            assert!(found.iter().any(is_expected), "{wrong}: {found:?}");
        }
    }
}
