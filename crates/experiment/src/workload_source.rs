//! The text of a workload, of which variants are made, and the files it names.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{self, Path};

use flate2::bufread::MultiGzDecoder;
use offered_model::Workload;
use offered_model::workload::{Mistake, digest};
use offered_simulate::swf::Swf;
use toml_edit::{DocumentMut, InlineTable, Value};

use crate::Error;

/// Reads a file that a workload names.
pub type Files = dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync;

/// Hears which lines of a log that a workload names are broken and left out: the log's name, and the lines as `file:line: why`.
pub type Broken = fn(&str, &[String]);

/// A workload's text, its name, and the way to the files it names.
pub struct Input {
    /// What it is called in errors: the path of its file.
    pub name: String,
    /// As it was written.
    pub text: String,
    files: Box<Files>,
}

impl Input {
    /// Of this text; the files it names are read by `files`.
    pub fn new(
        name: String,
        text: String,
        files: impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, text, files: Box::new(files) }
    }

    /// Of the file at `path` and those that stand beside it.
    ///
    /// # Errors
    /// The file cannot be read, or is not a text.
    pub fn open(path: &Path, broken: Broken) -> Result<Self, Error> {
        let text = text(path)?;
        Ok(Self::new(path.display().to_string(), text, beside(Some(path), broken)))
    }

    /// The workload of `text`, which is the input's own or a variant of it.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(&self, text: &str) -> Result<Workload, Mistake> {
        Workload::parse(text, &self.name, &self.files)
    }

    /// The workload of `text`, and the text with what is known of the files that were read for it: where they stand and what they were, so
    /// that what is kept of it can be read again. What it says of them already stays.
    ///
    /// # Errors
    /// It is none.
    pub fn located(&self, text: &str) -> Result<(String, Workload), Mistake> {
        let digests = RefCell::new(BTreeMap::new());
        let workload = Workload::parse(text, &self.name, &|name| {
            let content = (self.files)(name)?;
            digests.borrow_mut().insert(name.to_owned(), digest(&content));
            Ok(content)
        })?;
        let digests = digests.into_inner();
        let is_said = text.parse().is_ok_and(|document: DocumentMut| document.contains_key("files"));
        if digests.is_empty() || is_said {
            return Ok((text.to_owned(), workload));
        }
        let folder = path::absolute(&self.name).ok().and_then(|path| Some(path.parent()?.display().to_string()));
        let (from, digests) = (Value::from(folder.unwrap_or_default()), InlineTable::from_iter(digests));
        Ok((format!("{}\n\n[files]\nfrom = {from}\nsha256 ={}\n", text.trim_end(), Value::from(digests)), workload))
    }
}

/// A workload is no longer; one of 70,000 requests has 3 MB.
const LONGEST: u64 = 64 << 20;

/// The text of a workload's file.
///
/// # Errors
/// It cannot be read, is not a text, or is longer than any workload.
pub fn text(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(Error::unread(path))?;
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(Error::unread(path))?;
    if text.len() as u64 > LONGEST { Err(Error::TooLong { path: path.to_owned() }) } else { Ok(text) }
}

/// Reads the files that a workload names, which stand beside its own, or in the working directory where it has none. Zipped ones
/// (`.gz`) are unzipped; a log in Standard Workload Format (`.swf`) is its run times.
pub fn beside(
    workload: Option<&Path>,
    broken: Broken,
) -> impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + use<> {
    let folder = workload.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    move |name| named(&folder.join(name), name, broken)
}

/// What is in a file that a workload calls `name`.
fn named(path: &Path, name: &str, broken: Broken) -> Result<Vec<u8>, String> {
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
    let swf = Swf::read(name, content).map_err(|wrong| wrong.to_string())?;
    if !swf.broken.is_empty() {
        broken(name, &swf.broken);
    }
    Ok(swf.run_times.iter().map(f64::to_string).collect::<Vec<_>>().join("\n").into_bytes())
}
