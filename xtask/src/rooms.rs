//! `cargo xtask rooms`: prints which module imports which, and finds modules that import each
//! other.
//!
//! The modules of one folder are its *rooms*. A room imports another one if its code names an item
//! of the other. Re-exports are followed to their target, and bodies of macros count. Method calls
//! name no module, so they are not found. Imports between a module and the modules in its own
//! folder do not count, because children extend the types of their parent. The root of a crate is
//! also a room.
//!
//! Rooms may not import each other in a cycle, so they form *floors*: a room imports only rooms of
//! lower floors. `xtask/rooms.txt` defines the floors.

mod modules;

use crate::run::{Failed, root};
use modules::Modules;
use petgraph::{
    algo::{tarjan_scc, toposort},
    graphmap::DiGraphMap,
};
use std::{collections::BTreeMap, fmt::Write, fs};

/// The crates, by their names in the list.
const CRATES: [(&str, &str); 7] = [
    ("guira", "src/lib.rs"),
    ("guira-commands", "commands/src/lib.rs"),
    ("guira-server", "server/src/lib.rs"),
    ("guira-module", "module/src/lib.rs"),
    ("guira-capi", "capi/src/lib.rs"),
    ("guira-shm", "shm/src/lib.rs"),
    ("guira-watch", "watch/src/lib.rs"),
];

const LIST: &str = "xtask/rooms.txt";

/// The rooms of a folder, and their imports.
#[derive(Debug, Default)]
struct Folder {
    names: Vec<String>,
    /// For each pair of importer and imported room, one import as an example.
    arrows: BTreeMap<(usize, usize), String>,
}

/// `cargo xtask rooms [FOLDER...]`: prints these folders, or all folders.
pub(crate) fn run(asked: &[&str]) -> Result<(), Failed> {
    let folders = folders()?;
    if let Some(unknown) = asked.iter().find(|&&name| !folders.contains_key(name)) {
        let known: Vec<_> = folders.keys().map(String::as_str).collect();
        return Err(Failed(format!(
            "there is no folder {unknown}: {}",
            known.join(", ")
        )));
    }
    for (name, folder) in &folders {
        if asked.is_empty() || asked.contains(&&name[..]) {
            println!("{}", folder.print(name));
        }
    }
    let wrong = wrong(&folders)?;
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failed(wrong.join("\n"))),
    }
}

/// All cycles, and all differences between the floors in the list and in the code.
fn wrong(folders: &BTreeMap<String, Folder>) -> Result<Vec<String>, Failed> {
    let mut wrong = Vec::new();
    for (name, folder) in folders {
        let cycles = folder.cycles().into_iter();
        wrong.extend(cycles.map(|it| format!("{name}: {it}")));
    }
    let list = fs::read_to_string(root().join(LIST))?;
    for (name, floors) in blocks(&list) {
        match folders.get(name) {
            None => wrong.push(format!("{LIST}: there is no folder {name}")),
            Some(folder) => wrong.extend(
                (folder.against(&floors).into_iter()).map(|it| format!("{LIST}: {name}: {it}")),
            ),
        }
    }
    Ok(wrong)
}

/// The folders of all crates with at least two rooms: `guira`, `guira::raw`.
fn folders() -> Result<BTreeMap<String, Folder>, Failed> {
    let mut folders = BTreeMap::new();
    for (name, path) in CRATES {
        let modules = Modules::read(&root().join(path))?;
        folders.extend(of_crate(name, &modules));
    }
    Ok(folders)
}

/// The imports between the rooms of a folder: the importer and the imported room of each.
#[cfg(test)]
pub(crate) fn imports(folder: &str) -> Result<Vec<(String, String)>, Failed> {
    let folders = folders()?;
    let folder = &folders[folder];
    let name = |room: usize| folder.names[room].clone();
    let arrows = folder.arrows.keys();
    Ok(arrows.map(|&(from, to)| (name(from), name(to))).collect())
}

fn of_crate(name: &str, modules: &Modules) -> BTreeMap<String, Folder> {
    let mut folders: BTreeMap<usize, Folder> = BTreeMap::new();
    let room = |module: usize| modules.0[module].name.clone();
    for module in 0..modules.0.len() {
        // The root is a room of its own folder.
        let folder = modules.0[module].parent.unwrap_or(0);
        folders.entry(folder).or_default().room(room(module));
        for (to, path) in modules.named_by(module) {
            if let Some((folder, from, to)) = arrow(modules, module, to) {
                let folder = folders.entry(folder).or_default();
                let arrow = (folder.room(room(from)), folder.room(room(to)));
                let by = match module {
                    0 => room(module),
                    _ => modules.path(module),
                };
                let example = || format!("{by} names {}", path.join("::"));
                folder.arrows.entry(arrow).or_insert_with(example);
            }
        }
    }
    let folders = folders.into_iter().filter(|(_, it)| it.names.len() > 1);
    let full_name = |module| match modules.path(module) {
        path if path.is_empty() => name.to_owned(),
        path => format!("{name}::{path}"),
    };
    folders
        .map(|(module, it)| (full_name(module), it))
        .collect()
}

/// The folder in which an import leads from one room to another, and both rooms.
fn arrow(modules: &Modules, from: usize, to: usize) -> Option<(usize, usize, usize)> {
    if from == to {
        return None;
    }
    let (from, to) = (modules.way(from), modules.way(to));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let room = |way: &[usize]| match way.get(common) {
        Some(&room) => Some(room),
        // The code belongs to the module of the folder itself.
        None => (common == 1).then_some(0),
    };
    Some((from[common - 1], room(&from)?, room(&to)?))
}

impl Folder {
    fn room(&mut self, name: String) -> usize {
        let known = self.names.iter().position(|known| *known == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }

    fn graph(&self) -> DiGraphMap<usize, ()> {
        let mut graph = DiGraphMap::from_edges(self.arrows.keys().copied());
        for room in 0..self.names.len() {
            graph.add_node(room);
        }
        graph
    }

    /// Rooms that import each other, with these imports.
    fn cycles(&self) -> Vec<String> {
        let mut cycles = tarjan_scc(&self.graph());
        cycles.retain(|rooms| rooms.len() > 1);
        let print = |rooms: Vec<usize>| {
            let mut text = format!("cycle of {}", self.list(&rooms));
            let inside = |(from, to)| rooms.contains(from) && rooms.contains(to);
            for ((from, to), example) in &self.arrows {
                if inside((from, to)) {
                    let _ = write!(
                        text,
                        "\n  {} -> {}: {example}",
                        self.names[*from], self.names[*to]
                    );
                }
            }
            text
        };
        cycles.into_iter().map(print).collect()
    }

    fn list(&self, rooms: &[usize]) -> String {
        let mut names: Vec<_> = rooms.iter().map(|&room| &self.names[room][..]).collect();
        names.sort_unstable();
        names.join(" ")
    }

    /// The floor of each room, counted from 0: one above the highest floor that the room imports.
    /// `None` if there is a cycle.
    fn floors(&self) -> Option<Vec<usize>> {
        let graph = self.graph();
        let mut floors = vec![0; self.names.len()];
        for room in toposort(&graph, None).ok()?.into_iter().rev() {
            let below = graph.neighbors(room).map(|below| floors[below] + 1);
            floors[room] = below.max().unwrap_or(0);
        }
        Some(floors)
    }

    /// The folder as text: its floors from the highest to the lowest, with the imports of each
    /// room.
    fn print(&self, name: &str) -> String {
        let (rooms, arrows) = (self.names.len(), self.arrows.len());
        let floors = self.floors();
        let on = |floor| {
            let of = |it: &Vec<usize>| (0..rooms).filter(|&room| it[room] == floor).collect();
            floors.as_ref().map_or_else(Vec::new, of)
        };
        let high = floors.iter().flatten().max().map_or(0, |top| top + 1);
        let mut text = format!("{name}: {rooms} rooms, {high} floors, {arrows} arrows\n");
        for cycle in self.cycles() {
            let _ = writeln!(text, "  {cycle}");
        }
        for floor in (0..high).rev() {
            let mut rooms: Vec<usize> = on(floor);
            rooms.sort_by_key(|&room| &self.names[room]);
            for room in rooms {
                let imported = self.arrows.keys().filter(|(from, _)| *from == room);
                let imported: Vec<_> = imported.map(|&(_, to)| to).collect();
                let arrow = if imported.is_empty() { "" } else { " -> " };
                let (room, imported) = (&self.names[room], self.list(&imported));
                let _ = writeln!(text, "{floor:4}  {room}{arrow}{imported}");
            }
        }
        text
    }

    /// The errors in these floors, which are listed from the highest to the lowest. Each room must
    /// exist and be listed exactly once, and imports must lead down.
    fn against(&self, floors: &[Vec<&str>]) -> Vec<String> {
        let mut wrong = Vec::new();
        let all: Vec<&str> = floors.iter().flatten().copied().collect();
        for name in &self.names {
            let count = all.iter().filter(|known| known == &name).count();
            if count != 1 {
                wrong.push(format!("{name} is on {count} floors"));
            }
        }
        let unknown = all
            .iter()
            .filter(|name| !self.names.iter().any(|it| it == *name));
        wrong.extend(unknown.map(|name| format!("there is no room {name}")));
        let floor = |room: usize| {
            floors
                .iter()
                .position(|it| it.contains(&&self.names[room][..]))
        };
        for (&(from, to), example) in &self.arrows {
            if let (Some(above), Some(below)) = (floor(from), floor(to))
                && above >= below
            {
                let (from, to) = (&self.names[from], &self.names[to]);
                wrong.push(format!("{from} may not import {to}: {example}"));
            }
        }
        wrong
    }
}

/// The floors in the list by folder, from the highest to the lowest: the lines after `FOLDER:`.
fn blocks(list: &str) -> Vec<(&str, Vec<Vec<&str>>)> {
    let blocks = list.split("\n\n");
    blocks
        .filter_map(|text| {
            let (name, floors) = text.split_once(":\n")?;
            let floors = floors.lines().map(|line| line.split_whitespace().collect());
            Some((name, floors.collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rooms_import_each_other_and_the_list_has_their_floors() {
        let folders = folders().unwrap();
        let wrong = wrong(&folders).unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let list = fs::read_to_string(root().join(LIST)).unwrap();
        for (name, _) in CRATES {
            let has_block = blocks(&list).iter().any(|(known, _)| *known == name);
            assert!(has_block, "{LIST} has no floors of {name}");
        }
    }

    fn folder(arrows: &[(usize, usize)]) -> Folder {
        Folder {
            names: ["a", "b", "c"].map(str::to_owned).to_vec(),
            arrows: arrows.iter().map(|&it| (it, "example".into())).collect(),
        }
    }

    #[test]
    fn a_cycle_is_found_and_has_no_floors() {
        let cyclic = folder(&[(0, 1), (1, 2), (2, 0)]);
        assert_eq!(cyclic.cycles().len(), 1);
        assert!(cyclic.cycles()[0].starts_with("cycle of a b c\n"));
        assert_eq!(cyclic.floors(), None);
        let straight = folder(&[(0, 1), (1, 2), (0, 2)]);
        assert!(straight.cycles().is_empty());
        assert_eq!(straight.floors(), Some(vec![2, 1, 0]));
    }

    #[test]
    fn an_import_upwards_or_within_a_floor_breaks_the_rule() {
        let folder = folder(&[(0, 1), (1, 2)]);
        assert!(
            folder
                .against(&[vec!["a"], vec!["b"], vec!["c"]])
                .is_empty()
        );
        assert_eq!(folder.against(&[vec!["a", "b"], vec!["c"]]).len(), 1);
        assert_eq!(folder.against(&[vec!["c"], vec!["b"], vec!["a"]]).len(), 2);
        assert_eq!(folder.against(&[vec!["a"], vec!["b"]]).len(), 1);
        assert_eq!(
            folder
                .against(&[vec!["a"], vec!["b"], vec!["c", "d"]])
                .len(),
            1
        );
    }

    #[test]
    fn a_block_has_a_floor_a_line() {
        let list = "# What it is.\n\nguira:\na b\nc\n\nguira::raw:\nd\n";
        let floors = vec![vec!["a", "b"], vec!["c"]];
        assert_eq!(
            blocks(list),
            [("guira", floors), ("guira::raw", vec![vec!["d"]])]
        );
    }
}
