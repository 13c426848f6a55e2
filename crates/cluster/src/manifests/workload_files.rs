//! A workload and the files that it reads, as keys of a `ConfigMap`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use offered_experiment::{file_reader, redact};
use offered_workload::{Descriptors, EnvironmentVariable, Workload};
use serde_json::{Map, Value, json};
use toml_edit::DocumentMut;

use super::{Error, MAX_BYTES};

/// The name of the workload in the directory of its files.
const WORKLOAD: &str = "workload.toml";

/// A workload and the files that it reads.
pub struct WorkloadFiles {
    /// The workload.
    pub workload: Workload,
    /// The environment variables that it reads.
    pub environment: Vec<EnvironmentVariable>,
    /// The private key of its client certificate, relative to the workload. It is never part of a `ConfigMap`.
    pub key: Option<String>,
    /// The content of each file with its path relative to the workload.
    files: Vec<(String, Vec<u8>)>,
}

impl WorkloadFiles {
    /// Reads the workload at `path` and the files that it names.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let read_error = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Read { path, source }
        };
        let text = fs::read_to_string(path).map_err(read_error(path))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let (names, read) = (RefCell::new(BTreeSet::new()), file_reader(Some(path), |_, _| ()));
        let workload = Workload::parse(&text, &path.display().to_string(), &|name| {
            names.borrow_mut().insert(name.to_owned());
            read(name)
        })?;
        let has_seed = text.parse().is_ok_and(|document: DocumentMut| document.contains_key("seed"));
        if !has_seed {
            return Err(Error::NoSeed { workload: path.to_owned() });
        }
        if redact(&text) != text {
            return Err(Error::SecretInWorkload { workload: path.to_owned() });
        }
        let mut names = names.into_inner();
        let relative = |file: &Path| file.strip_prefix(directory).unwrap_or(file).display().to_string();
        let mut key = None;
        if let Some(target) = workload.target() {
            names.extend(target.tls().roots.iter().map(|file| relative(file)));
            if let Some(Descriptors::File(file)) = target.descriptors() {
                names.insert(relative(file));
            }
            if let Some(identity) = &target.tls().identity {
                names.insert(relative(&identity.certificate));
                key = Some(relative(&identity.key));
            }
        }
        if let Some(outside) = names.iter().chain(&key).find(|name| !is_inside(name)) {
            return Err(Error::FileOutside { file: outside.clone() });
        }
        let mut files = vec![(WORKLOAD.to_owned(), text.into_bytes())];
        for name in names {
            let path = directory.join(&name);
            files.push((name, fs::read(&path).map_err(read_error(&path))?));
        }
        let files = Self { environment: workload.environment(), workload, key, files };
        if files.bytes() > MAX_BYTES {
            let mut files: Vec<_> = files.files.into_iter().map(|(name, content)| (name, content.len())).collect();
            files.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            return Err(Error::TooLarge { files });
        }
        Ok(files)
    }

    /// The size of all files, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.files.iter().map(|(_, content)| content.len()).sum()
    }

    /// `data` of the `ConfigMap`: the files that are UTF-8.
    pub(super) fn texts(&self) -> Map<String, Value> {
        let text = |(name, content): &(String, Vec<u8>)| {
            Some((key_for(name), Value::from(std::str::from_utf8(content).ok()?)))
        };
        self.files.iter().filter_map(text).collect()
    }

    /// `binaryData` of the `ConfigMap`: the other files, in base64.
    pub(super) fn binaries(&self) -> Map<String, Value> {
        let no_text = self.files.iter().filter(|(_, content)| std::str::from_utf8(content).is_err());
        no_text.map(|(name, content)| (key_for(name), Value::from(BASE64_STANDARD.encode(content)))).collect()
    }

    /// The path of each key in the mounted volume.
    pub(super) fn items(&self) -> Vec<Value> {
        self.files.iter().map(|(name, _)| json!({ "key": key_for(name), "path": name })).collect()
    }
}

/// Whether a relative path stays inside its directory.
fn is_inside(name: &str) -> bool {
    // Kubernetes reserves names that begin with two dots in the volume of a ConfigMap.
    let stays =
        |part: Component<'_>| matches!(part, Component::Normal(name) if !name.as_encoded_bytes().starts_with(b".."));
    Path::new(name).components().all(stays)
}

/// The key of a file: its path, with characters that a key cannot have replaced by `_` and their code point in hexadecimal. Different
/// paths have different keys.
pub(super) fn key_for(path: &str) -> String {
    let escape = |c: char| match c {
        '_' => "__".to_owned(),
        c if c.is_ascii_alphanumeric() || ['-', '.'].contains(&c) => c.to_string(),
        c => format!("_{:x}_", u32::from(c)),
    };
    path.chars().map(escape).collect()
}
