//! No cycles between the files of a crate: of two files, one can be read without the other. A file may use its parents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::contributing::sources;
use super::root;

/// A module by its path in the crate; the root is empty.
type Module = Vec<String>;

/// The text without comments and without the tests at its end.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The paths in the tree of a `use`: `a::{b, c::d}` has two.
fn leaves(before: &[String], tree: &str, found: &mut Vec<Module>) {
    let (mut depth, mut start) = (0, 0);
    for (at, c) in tree.char_indices().chain([(tree.len(), ',')]) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c != ',' || depth > 0 {
            continue;
        }
        let (path, below) = tree[start..at].split_once('{').unwrap_or((&tree[start..at], ""));
        let names = path.split("::").map(|name| name.split(" as ").next().unwrap_or_default().trim().to_owned());
        let path: Module = before.iter().cloned().chain(names.filter(|name| !name.is_empty())).collect();
        start = at + 1;
        match below.rsplit_once('}') {
            Some((below, _)) => leaves(&path, below, found),
            None => found.push(path),
        }
    }
}

/// The modules that a module uses, by `use` or by a path, except its parents.
fn used(module: &Module, code: &str, modules: &BTreeMap<Module, PathBuf>) -> BTreeSet<Module> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start).filter(|(at, _)| !code[..*at].ends_with("::")) {
            let is_use = code[..at].ends_with("use ");
            let ends = |c: char| if is_use { c == ';' } else { !(c.is_alphanumeric() || c == '_' || c == ':') };
            leaves(&[], code[at..].split(ends).next().unwrap_or_default(), &mut paths);
        }
    }
    for child in modules.keys().filter(|other| other.len() == module.len() + 1 && other.starts_with(module)) {
        let name = child.last().unwrap();
        let call = format!("{name}::");
        let mut before = code.match_indices(&call).map(|(at, _)| code[..at].chars().next_back());
        if before.any(|c| !c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')) {
            paths.push([&["self".to_owned()][..], std::slice::from_ref(name)].concat());
        }
    }
    let module_of = |path: Module| {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let base = if path[0] == "crate" { &[] } else { &module[..module.len().saturating_sub(ups)] };
        let names = path.iter().skip(ups.max(1)).cloned();
        let mut full: Module = base.iter().cloned().chain(names).collect();
        while !modules.contains_key(&full) {
            full.pop();
        }
        full
    };
    paths.into_iter().map(module_of).filter(|other| !module.starts_with(other)).collect()
}

#[test]
fn uses_of_other_files_are_found() {
    let module =
        |path: &str| -> Module { path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect() };
    let modules: BTreeMap<Module, PathBuf> =
        ["", "a", "a/d", "b", "b/c", "e"].map(|path| (module(path), PathBuf::new())).into();
    let of =
        |code: &str| used(&module("a"), code, &modules).into_iter().map(|found| found.join("/")).collect::<Vec<_>>();
    assert_eq!(of("use super::b::{self, c::X};\nuse crate::Root;"), ["b", "b/c"]);
    assert_eq!(of("fn f() { crate::e::f(); d::g(); other::b::h(); }"), ["a/d", "e"]);
}

#[test]
fn files_of_a_crate_have_no_cycles() {
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let source = entry.unwrap().path().join("src");
        let mut files = Vec::new();
        sources(&source, &mut files);
        let name = |path: &PathBuf| -> Module {
            let path = path.strip_prefix(&source).unwrap().with_extension("");
            let names = path.iter().map(|name| name.to_str().unwrap().to_owned());
            names.filter(|name| !["lib", "main"].contains(&name.as_str())).collect()
        };
        let modules: BTreeMap<Module, PathBuf> = files.into_iter().map(|path| (name(&path), path)).collect();
        let is_test = |module: &Module| module.iter().any(|name| name == "tests");
        let mut uses: BTreeMap<&Module, BTreeSet<Module>> = modules
            .iter()
            .filter(|(module, _)| !is_test(module))
            .map(|(module, path)| (module, used(module, &code(path), &modules)))
            .collect();
        // Files that use nothing that is left are in no cycle.
        while let Some(free) = uses.iter().find(|(_, used)| !used.iter().any(|of| uses.contains_key(of))) {
            let free = *free.0;
            uses.remove(free);
        }
        let left: Vec<String> = uses.keys().map(|module| module.join("/")).collect();
        assert!(left.is_empty(), "{}: these files use each other: {}", source.display(), left.join(", "));
    }
}
