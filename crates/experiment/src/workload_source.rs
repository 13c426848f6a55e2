//! The source of a workload: its text, from which variants are made, and the files that it names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{self, Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::bufread::MultiGzDecoder;
use offered_io::open_regular;
use offered_logs::swf::RunTimes;
use offered_workload::Workload;
use offered_workload::{Mistake, digest};
use toml_edit::{DocumentMut, InlineTable, Value};

use crate::Error;

/// Reads a file that a workload names.
pub type FileReader = dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync;

/// Receives the lines of a log that are skipped because they are malformed: the name of the log, and the lines as `file:line: reason`.
pub type BadLineHandler = fn(&str, &[String]);

/// The text of a workload, its name, and access to the files that it names.
pub struct WorkloadSource {
    /// The name in errors: the path of its file.
    pub name: String,
    /// The text as written.
    pub text: String,
    files: Box<FileReader>,
    /// The flag with which the user permits files outside the directory of the workload; `None` if they are permitted.
    permission: Option<&'static str>,
    /// The files outside that directory which the text names.
    outside: Mutex<BTreeSet<PathBuf>>,
}

/// The files and commands that a workload uses on this machine outside of its own directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalAccess {
    /// The commands that a run starts, as command lines.
    pub commands: Vec<String>,
    /// The files outside the directory of the workload.
    pub files: Vec<PathBuf>,
    /// The names of the environment variables that it reads and that are set.
    pub environment: Vec<String>,
}

impl WorkloadSource {
    /// A source with this text. `files` reads the files that it names.
    pub fn new(
        name: String,
        text: String,
        files: impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, text, files: Box::new(files), permission: None, outside: Mutex::default() }
    }

    /// Refuses files outside the directory of the workload, also by a symbolic link. `permission` is the flag that an error suggests.
    #[must_use]
    pub fn restricted(self, permission: &'static str) -> Self {
        Self { permission: Some(permission), ..self }
    }

    /// The files, commands and environment variables that `workload`, parsed from this source, uses on this machine.
    pub fn local_access(&self, workload: &Workload) -> LocalAccess {
        let outside = workload.connection_files().into_iter().filter(|file| is_outside(&self.directory(), file));
        let mut files = self.outside.lock().unwrap_or_else(PoisonError::into_inner).clone();
        files.extend(outside);
        let is_set = |name: &String| std::env::var_os(name).is_some();
        LocalAccess {
            commands: workload.commands().iter().map(|words| words.join(" ")).collect(),
            files: files.into_iter().collect(),
            environment: workload.environment().into_iter().map(|variable| variable.name).filter(is_set).collect(),
        }
    }

    fn directory(&self) -> PathBuf {
        Path::new(&self.name).parent().unwrap_or(Path::new("")).to_owned()
    }

    /// Reads a file that the text names.
    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.directory().join(name);
        if is_outside(&self.directory(), &path) {
            self.outside.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
            if let Some(permission) = self.permission {
                return Err(format!(
                    "the file is outside the directory of the workload; if you trust it, add {permission}"
                ));
            }
        }
        (self.files)(name)
    }

    /// Opens the file at `path`, or stdin if it is `-`. The files that it names are relative to its directory.
    ///
    /// # Errors
    /// The file cannot be read, or is not text.
    pub fn open(path: &Path, on_bad_lines: BadLineHandler) -> Result<Self, Error> {
        let text = read_workload_text(path)?;
        let name = if path == Path::new(STDIN) { "stdin".to_owned() } else { path.display().to_string() };
        Ok(Self::new(name, text, file_reader(Some(path), on_bad_lines)))
    }

    /// Parses `text`: the text of this source, or a variant of it.
    ///
    /// # Errors
    /// The text is not a valid workload.
    pub fn parse(&self, text: &str) -> Result<Workload, Mistake> {
        Workload::parse(text, &self.name, &|name| self.read(name))
    }

    /// Parses `text`, and returns it with the directory and the digests of the files that it names, so that a copy of the text can be read
    /// elsewhere. A text that already has a `[files]` table is returned unchanged.
    ///
    /// # Errors
    /// The text is not a valid workload.
    pub fn parse_with_files(&self, text: &str) -> Result<(String, Workload), Mistake> {
        let digests = RefCell::new(BTreeMap::new());
        let workload = Workload::parse(text, &self.name, &|name| {
            let content = self.read(name)?;
            digests.borrow_mut().insert(name.to_owned(), digest(&content));
            Ok(content)
        })?;
        let digests = digests.into_inner();
        let has_files = text.parse().is_ok_and(|document: DocumentMut| document.contains_key("files"));
        if digests.is_empty() || has_files {
            return Ok((text.to_owned(), workload));
        }
        let directory = path::absolute(&self.name).ok().and_then(|path| Some(path.parent()?.display().to_string()));
        let (from, digests) = (Value::from(directory.unwrap_or_default()), InlineTable::from_iter(digests));
        Ok((format!("{}\n\n[files]\nfrom = {from}\nsha256 ={}\n", text.trim_end(), Value::from(digests)), workload))
    }
}

/// Whether `path` is outside `directory`, after symbolic links are followed. A file that does not exist is judged by its path.
fn is_outside(directory: &Path, path: &Path) -> bool {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    match (directory.canonicalize(), path.canonicalize()) {
        (Ok(directory), Ok(path)) => !path.starts_with(directory),
        _ => {
            let relative = path.strip_prefix(directory).unwrap_or(path);
            relative.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
        }
    }
}

/// Maximum size of a workload in bytes. One with 70,000 requests has 3 MB.
const MAX_BYTES: u64 = 64 << 20;

/// The path that stands for stdin.
const STDIN: &str = "-";

/// Reads the text of a workload file, or of stdin if `path` is `-`.
///
/// # Errors
/// The file cannot be read, is not text, or is larger than 64 MiB.
pub fn read_workload_text(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let file: Box<dyn Read> = match path == Path::new(STDIN) {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path).map_err(Error::unreadable(path))?),
    };
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(Error::unreadable(path))?;
    if text.len() as u64 > MAX_BYTES { Err(Error::TooLarge { path: path.to_owned() }) } else { Ok(text) }
}

/// A reader of the files that a workload names, relative to the directory of `workload`, or to the working directory. Files that end with
/// `.gz` are decompressed. For a log in Standard Workload Format (`.swf`) it returns the run times.
pub fn file_reader(
    workload: Option<&Path>,
    on_bad_lines: BadLineHandler,
) -> impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + use<> {
    let directory = workload.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    move |name| read_file(&directory.join(name), name, on_bad_lines)
}

/// The content of a file that a workload names `name`.
fn read_file(path: &Path, name: &str, on_bad_lines: BadLineHandler) -> Result<Vec<u8>, String> {
    let file = BufReader::new(open_regular(path).map_err(|why| why.to_string())?);
    let kind = name.to_ascii_lowercase();
    let (plain, zipped) = kind.strip_suffix(".gz").map_or((kind.as_str(), false), |plain| (plain, true));
    let mut content: Box<dyn BufRead> =
        if zipped { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
    if plain.strip_suffix(".swf").is_none() {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(|why| why.to_string())?;
        return Ok(bytes);
    }
    let swf = RunTimes::read(name, content).map_err(|wrong| wrong.to_string())?;
    if !swf.broken.is_empty() {
        on_bad_lines(name, &swf.broken);
    }
    Ok(swf.seconds.iter().map(f64::to_string).collect::<Vec<_>>().join("\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &str = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://127.0.0.1:9/\"\n";

    /// A workload with this body, in the directory `w`, beside the directory `other`.
    fn source(root: &Path, body_file: &str) -> WorkloadSource {
        let text = format!("{TEXT}[[request]]\npost = \"/\"\nbody_file = \"{body_file}\"\n");
        fs::create_dir_all(root.join("w/data")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        for file in ["w/workload.toml", "w/data/a", "other/secret"] {
            fs::write(root.join(file), &text).unwrap();
        }
        WorkloadSource::open(&root.join("w/workload.toml"), |_, _| ()).unwrap()
    }

    #[test]
    fn files_outside_the_directory_are_listed_and_need_permission() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        source(root, "");
        std::os::unix::fs::symlink(root.join("other/secret"), root.join("w/link")).unwrap();
        let absolute = root.join("other/secret");
        for (body_file, is_outside) in [
            ("data/a", false),
            ("./data/../data/a", false),
            ("../w/data/a", false),
            ("../other/secret", true),
            ("link", true),
            (absolute.to_str().unwrap(), true),
            ("/does/not/exist", true),
            ("missing", false),
        ] {
            let source = source(root, body_file).restricted("--allow-files");
            let workload = source.parse(&source.text).unwrap();
            let access = source.local_access(&workload);
            let expected: Vec<_> = is_outside.then(|| root.join("w").join(body_file)).into_iter().collect();
            assert_eq!(access, LocalAccess { files: expected, ..LocalAccess::default() }, "{body_file}");
            let Err(reason) = offered_run::preview(&workload, &"r".parse().unwrap(), 1) else { continue };
            assert_eq!(reason.to_string().contains("add --allow-files"), is_outside, "{reason}");
        }
    }

    #[test]
    fn a_permitted_file_outside_the_directory_is_read_and_listed() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path(), "../other/secret");
        let workload = source.parse(&source.text).unwrap();
        assert_eq!(source.local_access(&workload).files.len(), 1);
        assert!(offered_run::preview(&workload, &"r".parse().unwrap(), 1).is_ok());
    }
}
