//! A workload with everything that it reads, as the keys of a `ConfigMap`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use offered_model::Workload;
use offered_model::workload::Descriptors;
use serde_json::{Map, Value, json};
use toml_edit::DocumentMut;

use super::{Error, MOST_BYTES};
use crate::input::beside;
use crate::kept::kept;

/// What the workload is called in the folder of its files.
const WORKLOAD: &str = "workload.toml";

/// A workload and what it reads.
pub struct Packed {
    /// The workload.
    pub workload: Workload,
    /// Variables of the environment that it reads, and whether it does without.
    pub environment: Vec<(String, bool)>,
    /// The file, seen from the workload, with the private key of its client certificate: not for a `ConfigMap`.
    pub key: Option<String>,
    /// Each with its path from the workload's folder on.
    files: Vec<(String, Vec<u8>)>,
}

impl Packed {
    /// Of the file at `path`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn of(path: &Path) -> Result<Self, Error> {
        let unread = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Unread { path, source }
        };
        let text = fs::read_to_string(path).map_err(unread(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let (names, read) = (RefCell::new(BTreeSet::new()), beside(Some(path), |_, _| ()));
        let workload = Workload::parse(&text, &path.display().to_string(), &|name| {
            names.borrow_mut().insert(name.to_owned());
            read(name)
        })?;
        let seeded = text.parse().is_ok_and(|document: DocumentMut| document.contains_key("seed"));
        if !seeded {
            return Err(Error::NoSeed { workload: path.to_owned() });
        }
        if kept(&text) != text {
            return Err(Error::SecretInText { workload: path.to_owned() });
        }
        let mut names = names.into_inner();
        let seen = |file: &Path| file.strip_prefix(folder).unwrap_or(file).display().to_string();
        let mut key = None;
        if let Some(target) = workload.target() {
            names.extend(target.tls().roots.iter().map(|file| seen(file)));
            if let Some(Descriptors::File(file)) = target.descriptors() {
                names.insert(seen(file));
            }
            if let Some(identity) = &target.tls().identity {
                names.insert(seen(&identity.certificate));
                key = Some(seen(&identity.key));
            }
        }
        if let Some(outside) = names.iter().chain(&key).find(|name| !is_beneath(name)) {
            return Err(Error::Outside { file: outside.clone() });
        }
        let mut files = vec![(WORKLOAD.to_owned(), text.into_bytes())];
        for name in names {
            let path = folder.join(&name);
            files.push((name, fs::read(&path).map_err(unread(&path))?));
        }
        let packed = Self { environment: environment(&workload), workload, key, files };
        if packed.bytes() > MOST_BYTES {
            let mut files: Vec<_> = packed.files.into_iter().map(|(name, content)| (name, content.len())).collect();
            files.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            return Err(Error::TooBig { files });
        }
        Ok(packed)
    }

    /// Of all files.
    pub(super) fn bytes(&self) -> usize {
        self.files.iter().map(|(_, content)| content.len()).sum()
    }

    /// `data`: what is a text.
    pub(super) fn texts(&self) -> Map<String, Value> {
        let text =
            |(name, content): &(String, Vec<u8>)| Some((key_of(name), Value::from(std::str::from_utf8(content).ok()?)));
        self.files.iter().filter_map(text).collect()
    }

    /// `binaryData`: what is none.
    pub(super) fn binaries(&self) -> Map<String, Value> {
        let no_text = self.files.iter().filter(|(_, content)| std::str::from_utf8(content).is_err());
        no_text.map(|(name, content)| (key_of(name), Value::from(BASE64_STANDARD.encode(content)))).collect()
    }

    /// Which key stands in which path.
    pub(super) fn items(&self) -> Vec<Value> {
        self.files.iter().map(|(name, _)| json!({ "key": key_of(name), "path": name })).collect()
    }
}

/// Whether a path stays in the folder it begins in.
fn is_beneath(name: &str) -> bool {
    // Where files of a ConfigMap are put, names that begin with two dots are Kubernetes' own.
    let stays =
        |part: Component<'_>| matches!(part, Component::Normal(name) if !name.as_encoded_bytes().starts_with(b".."));
    Path::new(name).components().all(stays)
}

/// The key of a file: its path, where what a key must not have is said by its number. No two paths have one key.
pub(super) fn key_of(path: &str) -> String {
    let said = |c: char| match c {
        '_' => "__".to_owned(),
        c if c.is_ascii_alphanumeric() || ['-', '.'].contains(&c) => c.to_string(),
        c => format!("_{:x}_", u32::from(c)),
    };
    path.chars().map(said).collect()
}

/// What the workload reads from the environment, in the order of their names.
fn environment(workload: &Workload) -> Vec<(String, bool)> {
    let mut names: BTreeSet<(String, bool)> =
        workload.variables().iter().filter_map(|variable| Some((variable.env.clone()?, false))).collect();
    let login = workload.target().and_then(|target| target.url().login.as_ref());
    if login.is_some_and(|login| login.password.is_none()) {
        names.insert(("PGPASSWORD".to_owned(), true));
    }
    names.into_iter().collect()
}
