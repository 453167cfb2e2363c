//! The modules of a crate, and the paths that their code names, without unit tests.

use crate::run::Failed;
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use syn::{Attribute, Item, Meta, Token, UseTree, punctuated::Punctuated};

/// A path as it is written, in segments.
type Segments = Vec<String>;

/// One module, which is identified by its index in [`Modules`].
#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The names that its `use` items bind.
    bindings: BTreeMap<String, Segments>,
    /// The paths in its code.
    paths: Vec<Segments>,
}

/// The modules of a crate. The root is the first one.
#[derive(Debug, Default)]
pub(super) struct Modules(pub(super) Vec<Module>);

impl Modules {
    /// Reads the crate that has this root file.
    pub(super) fn read(root: &Path) -> Result<Self, Failed> {
        let mut modules = Self::default();
        let name = root.file_stem().unwrap_or_default().to_string_lossy();
        let module = modules.add(&name, None);
        let folder = root.parent().unwrap_or(root).to_path_buf();
        let items = parse(&fs::read_to_string(root)?, root)?;
        modules.fill(module, items, &folder)?;
        Ok(modules)
    }

    fn add(&mut self, name: &str, parent: Option<usize>) -> usize {
        let module = self.0.len();
        if let Some(parent) = parent {
            self.0[parent].children.insert(name.to_owned(), module);
        }
        self.0.push(Module {
            name: name.to_owned(),
            parent,
            children: BTreeMap::new(),
            bindings: BTreeMap::new(),
            paths: Vec::new(),
        });
        module
    }

    /// Adds the items of a module. `folder` contains the files of its children.
    fn fill(&mut self, module: usize, items: Vec<Item>, folder: &Path) -> Result<(), Failed> {
        for item in items {
            if is_test(attributes(&item)) {
                continue;
            }
            match item {
                Item::Mod(child) => {
                    let name = child.ident.to_string();
                    let index = self.add(&name, Some(module));
                    let folder = folder.join(&name);
                    let items = match child.content {
                        Some((_, items)) => items,
                        None => {
                            let path = file(&folder)?;
                            parse(&fs::read_to_string(&path)?, &path)?
                        }
                    };
                    self.fill(index, items, &folder)?;
                }
                item => {
                    if let Item::Use(item) = &item {
                        bind(&item.tree, &mut Vec::new(), &mut self.0[module].bindings);
                    }
                    paths(item.to_token_stream(), &[], &mut self.0[module].paths);
                }
            }
        }
        Ok(())
    }

    /// The modules that a module names, each with the path in the code.
    pub(super) fn named_by(&self, module: usize) -> impl Iterator<Item = (usize, &Segments)> {
        let paths = self.0[module].paths.iter();
        paths.filter_map(move |path| Some((self.resolve(module, path, 0)?, path)))
    }

    /// The module of the item that a path names, after re-exports. `None` if it is in another
    /// crate.
    fn resolve(&self, from: usize, path: &[String], depth: u32) -> Option<usize> {
        // A re-export of a macro refers to itself, so the depth is limited.
        const DEEP: u32 = 16;
        if depth == DEEP {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at = match &first[..] {
            "crate" => 0,
            "self" => from,
            "super" => self.0[from].parent?,
            name => self.step(from, name, depth)?,
        };
        while let Some((name, after)) = rest.split_first() {
            let next = match &name[..] {
                "super" => self.0[at].parent,
                name => self.step(at, name, depth),
            };
            let Some(next) = next else { break };
            (at, rest) = (next, after);
        }
        Some(at)
    }

    /// The module that a name refers to inside a module.
    fn step(&self, at: usize, name: &str, depth: u32) -> Option<usize> {
        let child = self.0[at].children.get(name).copied();
        child.or_else(|| self.resolve(at, self.0[at].bindings.get(name)?, depth + 1))
    }

    /// The modules from the root to this one.
    pub(super) fn way(&self, module: usize) -> Vec<usize> {
        let above = |&module: &usize| self.0[module].parent;
        let mut way: Vec<_> = std::iter::successors(Some(module), above).collect();
        way.reverse();
        way
    }

    /// The path of a module: the names from the root to it, without that of the root.
    pub(super) fn path(&self, module: usize) -> String {
        let names = self.way(module).into_iter().skip(1);
        let names: Vec<_> = names.map(|module| &self.0[module].name[..]).collect();
        names.join("::")
    }
}

fn parse(text: &str, path: &Path) -> Result<Vec<Item>, Failed> {
    let file = syn::parse_file(text);
    let file = file.map_err(|error| Failed(format!("{}: {error}", path.display())))?;
    Ok(if is_test(&file.attrs) {
        Vec::new()
    } else {
        file.items
    })
}

/// The file of the module whose children are in `folder`.
fn file(folder: &Path) -> Result<PathBuf, Failed> {
    let files = [folder.with_extension("rs"), folder.join("mod.rs")];
    let found = files.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| Failed(format!("there is no file for {}", folder.display())))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// True if these attributes restrict an item to unit tests.
fn is_test(attributes: &[Attribute]) -> bool {
    let mut conditions = attributes.iter().filter(|it| it.path().is_ident("cfg"));
    conditions.any(|it| {
        it.parse_args()
            .is_ok_and(|condition| needs_test(&condition))
    })
}

fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::NameValue(_) => false,
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            parts.is_ok_and(|parts| {
                list.path.is_ident("all") && parts.iter().any(needs_test)
                    || list.path.is_ident("any") && parts.iter().all(needs_test)
            })
        }
    }
}

fn bind(tree: &UseTree, before: &mut Segments, bindings: &mut BTreeMap<String, Segments>) {
    let mut add = |name: String, last: String| {
        let mut path = before.clone();
        if last != "self" {
            path.push(last);
        }
        let name = match &name[..] {
            "self" => before.last().cloned().unwrap_or_default(),
            _ => name,
        };
        bindings.insert(name, path);
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            bind(&path.tree, before, bindings);
            before.pop();
        }
        UseTree::Name(name) => add(name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(renamed) => add(renamed.rename.to_string(), renamed.ident.to_string()),
        UseTree::Glob(_) => {}
        UseTree::Group(group) => {
            for tree in &group.items {
                bind(tree, before, bindings);
            }
        }
    }
}

/// The paths of at least two segments in `tokens`, including bodies of macros. All of them begin
/// with `before`, which is not empty between the braces of a `use`.
fn paths(tokens: TokenStream, before: &[String], found: &mut Vec<Segments>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => paths(group.stream(), &[], found),
            // A name follows `as`, not a path.
            TokenTree::Ident(first) if first == "as" && !before.is_empty() => {
                tokens.next();
            }
            TokenTree::Ident(first) => {
                let mut path = before.to_vec();
                path.push(first.to_string());
                while tokens.next_if(begins_separator).is_some() {
                    tokens.next();
                    match tokens.next_if(|it| !matches!(it, TokenTree::Punct(_))) {
                        Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            paths(group.stream(), &path, found);
                        }
                        Some(TokenTree::Group(group)) => paths(group.stream(), &[], found),
                        _ => break,
                    }
                }
                if path.len() > 1 {
                    found.push(path);
                }
            }
            _ => {}
        }
    }
}

/// True at the first colon of `::`.
fn begins_separator(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(it) if it.as_char() == ':' && it.spacing() == Spacing::Joint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<String> {
        let mut found = Vec::new();
        paths(code.parse().unwrap(), &[], &mut found);
        found.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_are_found_in_imports_code_and_macros() {
        let imports = found("use crate::{a::B as X, c::{self, D}};");
        assert_eq!(imports[..2], ["crate::a::B", "crate::c::self"]);
        assert_eq!(imports[2..], ["crate::c::D", "crate::c"]);
        assert_eq!(
            found("fn f(x: X) { super::g::<u8>(a::b) }"),
            ["super::g", "a::b"]
        );
        assert_eq!(
            found("macro_rules! m { () => { $crate::a::b() } }"),
            ["crate::a::b"]
        );
    }

    #[test]
    fn code_that_needs_the_tests_is_left_out() {
        let needs = |text: &str| needs_test(&syn::parse_str(text).unwrap());
        assert!(needs("test") && needs("all(unix, test)"));
        assert!(!needs("any(unix, test)") && !needs("not(test)") && !needs("unix"));
    }
}
