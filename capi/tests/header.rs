//! `include/guira.h` is what cbindgen makes of the code, and has nothing that the tests leave out.
//!
//! `GUIRA_BLESS=1 cargo test --package guira-capi --test header` writes it.

use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn the_header_is_that_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    // It follows the modules. Given the crate, it would first ask cargo, which would download every
    // package of the workspace.
    let builder = cbindgen::Builder::new().with_src(root.join("src/lib.rs"));
    let mut made = Vec::new();
    let bindings = builder.with_config(config).generate().expect("a header");
    bindings.write(&mut made);
    let made = String::from_utf8(made).expect("UTF-8");

    let path = root.join("include/guira.h");
    if std::env::var_os("GUIRA_BLESS").is_some() {
        fs::write(&path, &made).expect("the header is written");
    }
    let committed = fs::read_to_string(&path).expect("the header");
    let mut lines = committed.lines().zip(made.lines()).enumerate();
    if let Some((index, (is, should))) = lines.find(|(_, (is, should))| is != should) {
        panic!(
            "line {} of include/guira.h is {is:?}, and should be {should:?}: run with GUIRA_BLESS=1",
            index + 1
        );
    }
    assert_eq!(
        committed.len(),
        made.len(),
        "one of them is longer: run with GUIRA_BLESS=1"
    );
}

/// `tests/c/panics.c` makes each call panic.
#[test]
fn every_call_is_in_the_test_of_panics() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path| fs::read_to_string(root.join(path)).expect("a file of the package");
    let (header, test) = (read("include/guira.h"), read("tests/c/panics.c"));
    // Inline functions are the caller's code.
    let code = header.lines().filter(|line| !line.starts_with("static"));
    let code = code.map(|line| line.split("//").next());
    let code: Vec<&str> = code.map(Option::unwrap_or_default).collect();
    let code = code.join("\n");
    // A name before a list of arguments.
    let calls: BTreeSet<&str> = code
        .match_indices('(')
        .filter_map(|(at, _)| {
            code[..at]
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next_back()
        })
        .filter(|name| name.starts_with("guira_"))
        .collect();
    assert!(calls.len() > 60, "{calls:?}");
    let missing: Vec<_> = calls
        .into_iter()
        .filter(|name| !test.contains(&format!("{name}(")))
        .collect();
    // The message is read by each check of INTERNAL.
    assert_eq!(missing, ["guira_last_message"]);
}
