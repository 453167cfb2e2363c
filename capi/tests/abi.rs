//! Programs that were compiled against an earlier header keep working.
//!
//! `tests/abi/guira.h` is the header of the oldest release whose programs must run: a release that
//! breaks the interface replaces it, and changes the soname. What it declares must be in the present
//! header, unchanged; only options may have got further fields. `ci/capi.sh` also builds the library of
//! that header, compiles its programs, and runs each with either library.

use std::{collections::BTreeMap, fs, path::Path};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The declarations of a header by their names, with single spaces and without comments.
fn declarations(header: &str) -> BTreeMap<String, String> {
    let code = header.lines().filter(|line| !line.contains("extern \"C\""));
    let code = code.map(|line| line.split("//").next());
    let code = code.map(Option::unwrap_or_default);
    let code = code.filter(|line| !line.starts_with('#') || line.starts_with("#define GUIRA_"));
    let mut all = BTreeMap::new();
    let mut whole = String::new();
    let mut depth = 0_usize;
    for line in code {
        if let Some(constant) = line.strip_prefix("#define ") {
            if let Some((name, value)) = constant.split_once(' ') {
                all.insert(name.to_owned(), value.to_owned());
            }
            continue;
        }
        for word in line.split_whitespace() {
            depth += word.matches('{').count();
            depth -= word.matches('}').count().min(depth);
            whole += word;
            whole.push(' ');
            let ends =
                depth == 0 && (word.ends_with(';') || word == "}" && whole.starts_with("static"));
            if ends {
                all.insert(name(&whole), whole.trim_end().to_owned());
                whole.clear();
            }
        }
    }
    all
}

/// The last word that begins with `guira_` before an argument list, or at the end of a type.
fn name(declaration: &str) -> String {
    let is_type = declaration.starts_with("typedef") && !declaration.contains("(*");
    let part = match declaration.find('(') {
        Some(at) if !is_type => {
            let inside = declaration[at..].starts_with("(*");
            if inside {
                &declaration[at..]
            } else {
                &declaration[..at]
            }
        }
        _ => declaration,
    };
    let mut words = part
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("guira_"));
    let first = part.starts_with("(*").then(|| words.next()).flatten();
    first
        .or_else(|| words.next_back())
        .unwrap_or(part)
        .to_owned()
}

/// The structure that may get further fields, as its first one is its size.
const SIZED: &str = "guira_options";

/// What is missing or different in `present`.
fn broken(past: &str, present: &str) -> Vec<String> {
    let (past, present) = (declarations(past), declarations(present));
    let holds = |name: &str, then: &str| {
        let Some(now) = present.get(name) else {
            return false;
        };
        if name == "guira_status" || name == SIZED {
            // All up to the brace that ends it.
            let (fields, _) = then.rsplit_once('}').expect("a brace");
            return now.starts_with(fields.trim_end());
        }
        now == then
    };
    let broken = past.iter().filter(|(name, then)| !holds(name, then));
    broken.map(|(name, _)| name.clone()).collect()
}

#[test]
fn programs_of_the_oldest_header_run() {
    let (past, present) = (read("tests/abi/guira.h"), read("include/guira.h"));
    let all = declarations(&present);
    for name in [
        "guira_filter_new",
        "guira_status",
        "guira_write",
        "guira_options",
        "GUIRA_PREFER_SPACE",
    ] {
        assert!(
            all.contains_key(name),
            "{name} is not found in {:?}",
            all.keys()
        );
    }
    assert!(all.len() > 80, "{}", all.len());
    assert_eq!(broken(&past, &present), Vec::<String>::new());
}

/// The check notices each kind of change that breaks programs, and allows what does not.
#[test]
fn a_broken_interface_is_noticed() {
    let header = read("include/guira.h");
    let changes = [
        (
            "size_t guira_filter_len(const",
            "uint32_t guira_filter_len(const",
            "guira_filter_len",
        ),
        (
            "bool guira_filter_remove_hash(guira_filter *filter, uint64_t hash);",
            "",
            "guira_filter_remove_hash",
        ),
        (
            "GUIRA_STATUS_FULL = 2",
            "GUIRA_STATUS_FULL = 9",
            "guira_status",
        ),
        (
            "uint64_t max_capacity;\n  // The share",
            "uint32_t max_capacity;\n  // The share",
            "guira_options",
        ),
        ("  size_t len;\n", "  uint64_t len;\n", "guira_bytes"),
        (
            "(*guira_read)(void *context, uint8_t *buffer",
            "(*guira_read)(uint8_t *buffer",
            "guira_read",
        ),
        (
            "#define GUIRA_ITEMS_ROWS 1",
            "#define GUIRA_ITEMS_ROWS 5",
            "GUIRA_ITEMS_ROWS",
        ),
        (
            "  const uint64_t *offsets;\n}",
            "  const uint64_t *offsets;\n  int more;\n}",
            "guira_items",
        ),
    ];
    for (then, now, name) in changes {
        assert!(header.contains(then), "{then}");
        assert_eq!(broken(&header, &header.replacen(then, now, 1)), [name]);
    }
    let more = header
        .replace(
            "  uint64_t ttl_ns;\n}",
            "  uint64_t ttl_ns;\n  uint64_t more;\n}",
        )
        .replace(
            "  GUIRA_STATUS_OCCUPIED = 12,\n",
            "  GUIRA_STATUS_OCCUPIED = 12,\n  GUIRA_STATUS_NEW = 13,\n",
        )
        .replace(
            "// A concurrent set of items, approximate",
            "void guira_new(void);\n// It",
        );
    assert_ne!(more.matches('\n').count(), header.matches('\n').count());
    assert_eq!(broken(&header, &more), Vec::<String>::new());
}

/// `tests/c/panics.c` makes each call panic.
#[test]
fn every_call_is_in_the_test_of_panics() {
    let (header, test) = (read("include/guira.h"), read("tests/c/panics.c"));
    let all = declarations(&header);
    let calls = all.iter().filter(|(_, declaration)| {
        declaration.contains('(')
            && !declaration.starts_with("typedef")
            && !declaration.starts_with("static")
    });
    let missing: Vec<_> = calls
        .filter(|(name, _)| !test.contains(&format!("{name}(")))
        .collect();
    // The message is read by each check of INTERNAL.
    assert!(
        missing
            .iter()
            .all(|(name, _)| *name == "guira_last_message"),
        "{missing:?}"
    );
}
