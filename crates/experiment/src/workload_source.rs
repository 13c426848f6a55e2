//! The source of a workload: its text, from which variants are made, and the files that it names.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{self, Path};

use flate2::bufread::MultiGzDecoder;
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
    /// Its name in errors: the path of its file.
    pub name: String,
    /// The text as written.
    pub text: String,
    files: Box<FileReader>,
}

impl WorkloadSource {
    /// A source with this text. `files` reads the files that it names.
    pub fn new(
        name: String,
        text: String,
        files: impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, text, files: Box::new(files) }
    }

    /// Opens the file at `path`. The files that it names are relative to its directory.
    ///
    /// # Errors
    /// The file cannot be read, or is not text.
    pub fn open(path: &Path, on_bad_lines: BadLineHandler) -> Result<Self, Error> {
        let text = read_workload_text(path)?;
        Ok(Self::new(path.display().to_string(), text, file_reader(Some(path), on_bad_lines)))
    }

    /// Parses `text`: the text of this source, or a variant of it.
    ///
    /// # Errors
    /// The text is not a valid workload.
    pub fn parse(&self, text: &str) -> Result<Workload, Mistake> {
        Workload::parse(text, &self.name, &self.files)
    }

    /// Parses `text`, and returns it with the directory and the digests of the files that it names, so that a copy of the text can be read
    /// elsewhere. A text that already has a `[files]` table is returned unchanged.
    ///
    /// # Errors
    /// The text is not a valid workload.
    pub fn parse_with_files(&self, text: &str) -> Result<(String, Workload), Mistake> {
        let digests = RefCell::new(BTreeMap::new());
        let workload = Workload::parse(text, &self.name, &|name| {
            let content = (self.files)(name)?;
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

/// Maximum size of a workload in bytes. One with 70,000 requests has 3 MB.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the text of a workload file.
///
/// # Errors
/// The file cannot be read, is not text, or is larger than 64 MiB.
pub fn read_workload_text(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(Error::unreadable(path))?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(Error::unreadable(path))?;
    if text.len() as u64 > MAX_BYTES { Err(Error::TooLarge { path: path.to_owned() }) } else { Ok(text) }
}

/// A reader of the files that a workload names, relative to the directory of `workload`, or to the working directory. Files that end with
/// `.gz` are decompressed. Of a log in Standard Workload Format (`.swf`) it returns the run times.
pub fn file_reader(
    workload: Option<&Path>,
    on_bad_lines: BadLineHandler,
) -> impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + use<> {
    let directory = workload.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    move |name| read_file(&directory.join(name), name, on_bad_lines)
}

/// The content of a file that a workload names `name`.
fn read_file(path: &Path, name: &str, on_bad_lines: BadLineHandler) -> Result<Vec<u8>, String> {
    let file = BufReader::new(File::open(path).map_err(|why| why.to_string())?);
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
