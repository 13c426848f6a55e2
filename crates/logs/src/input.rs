//! Inputs: files, globs and standard input, compressed or not, put in order of time and cut into what threads can share.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::format::{Choice, Format, trimmed};

/// How much of a file is looked at to tell its format.
const HEAD: usize = 256 * 1024;
/// A part of a file below this size is not worth a thread of its own.
const MIN_PART: u64 = 16 * 1024 * 1024;

/// One log.
pub struct Input {
    /// Its name as given, safe to show.
    pub name: String,
    /// `None`: standard input.
    path: Option<PathBuf>,
    /// Its bytes on disk.
    size: u64,
    /// Whether it is text as it lies there.
    plain: bool,
    /// How its lines read.
    pub(crate) format: Format,
    /// The first instant in its head.
    first: i64,
    /// What was read of standard input to tell the format.
    head: Vec<u8>,
}

/// What one thread reads at a time: a whole input, or the lines that begin in a range of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) input: usize,
    pub(crate) range: Option<(u64, u64)>,
}

/// How many bytes have been read from all inputs, for a progress bar.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Bytes on disk read so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Counted<R>(R, Progress);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(buffer)?;
        self.1.0.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// The logs that `names` (files, globs, `-` for standard input) stand for, in order of their first lines' times.
///
/// # Errors
/// A file that is not there or cannot be read, or whose format cannot be told.
pub fn inputs(names: &[String], choice: &Choice) -> Result<Vec<Input>, Error> {
    let mut inputs = Vec::new();
    for name in names {
        if name == "-" {
            inputs.push(Input::standard(choice)?);
            continue;
        }
        for path in paths(name)? {
            inputs.push(Input::file(path, choice)?);
        }
    }
    inputs.sort_by_key(|input| input.first);
    Ok(inputs)
}

fn paths(name: &str) -> Result<Vec<PathBuf>, Error> {
    if Path::new(name).exists() {
        return Ok(vec![PathBuf::from(name)]);
    }
    let missing = || Error::NoFile(name.escape_debug().to_string());
    let found: Vec<PathBuf> = glob::glob(name).map_err(|_| missing())?.filter_map(Result::ok).collect();
    if found.is_empty() { Err(missing()) } else { Ok(found) }
}

impl Input {
    fn file(path: PathBuf, choice: &Choice) -> Result<Self, Error> {
        let name = path.display().to_string().escape_debug().to_string();
        let read = |why| Error::Read { file: name.clone(), why };
        if path.is_dir() {
            let why = format!("it is a directory; name its files, such as '{name}/*'");
            return Err(Error::Format { file: name, why });
        }
        let mut file = File::open(&path).map_err(read)?;
        let size = file.metadata().map_err(read)?.len();
        let mut magic = Vec::new();
        (&mut file).take(6).read_to_end(&mut magic).map_err(read)?;
        let plain = Packing::of(&magic) == Packing::None;
        let mut head = Vec::new();
        let reader = open(&path, Progress::default()).map_err(read)?;
        reader.take(HEAD as u64).read_to_end(&mut head).map_err(read)?;
        Self { name, path: Some(path), size, plain, format: Format::Squid, first: 0, head: Vec::new() }
            .told(&head, choice)
    }

    fn standard(choice: &Choice) -> Result<Self, Error> {
        let name = "standard input".to_owned();
        let mut head = Vec::new();
        let read = |why| Error::Read { file: "standard input".to_owned(), why };
        std::io::stdin().lock().take(HEAD as u64).read_to_end(&mut head).map_err(read)?;
        let mut text = Vec::new();
        // What is compressed may be cut anywhere: what comes out of its beginning is enough.
        let _ = unpacked(Cursor::new(head.clone())).map(|reader| reader.take(HEAD as u64).read_to_end(&mut text));
        Self { name, path: None, size: 0, plain: false, format: Format::Squid, first: 0, head }.told(&text, choice)
    }

    fn told(mut self, head: &[u8], choice: &Choice) -> Result<Self, Error> {
        self.format = choice.format(head).map_err(|why| Error::Format { file: self.name.clone(), why })?;
        let mut format = self.format.clone();
        let record = format.record();
        let mut lines: Box<dyn Iterator<Item = &[u8]>> = match record {
            Some(size) => Box::new(head.chunks(size)),
            None => Box::new(head.split(|b| *b == b'\n').map(trimmed)),
        };
        self.first = lines.find_map(|line| Some(format.parse(line).ok()??.time)).unwrap_or(i64::MAX);
        Ok(self)
    }

    /// Its bytes on disk; 0 for standard input.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether it can be read only once.
    pub fn once(&self) -> bool {
        self.path.is_none()
    }

    /// Its bytes, unpacked, from `from` on where it is plain.
    pub(crate) fn open(&self, from: u64, progress: Progress) -> std::io::Result<Box<dyn Read>> {
        match &self.path {
            None => unpacked(Cursor::new(self.head.clone()).chain(std::io::stdin())),
            Some(path) if from > 0 => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(from))?;
                Ok(Box::new(Counted(file, progress)))
            }
            Some(path) => open(path, progress),
        }
    }
}

/// Cuts `inputs` into pieces for so many threads, in order.
pub(crate) fn pieces(inputs: &[Input], threads: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let parts = if input.plain && input.format.begins_anywhere() {
            (threads as u64).min(input.size / MIN_PART).max(1)
        } else {
            1
        };
        if parts == 1 {
            pieces.push(Piece { input: i, range: None });
            continue;
        }
        let at = |k: u64| (u128::from(input.size) * u128::from(k) / u128::from(parts)) as u64;
        pieces.extend((0..parts).map(|k| Piece { input: i, range: Some((at(k), at(k + 1))) }));
    }
    pieces
}

/// How a file is compressed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
    Bzip2,
}

impl Packing {
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            _ => Self::None,
        }
    }
}

fn open(path: &Path, progress: Progress) -> std::io::Result<Box<dyn Read>> {
    unpacked(Counted(File::open(path)?, progress))
}

fn unpacked(mut raw: impl Read + 'static) -> std::io::Result<Box<dyn Read>> {
    let mut magic = Vec::new();
    raw.by_ref().take(6).read_to_end(&mut magic)?;
    let packing = Packing::of(&magic);
    let whole = Cursor::new(magic).chain(raw);
    Ok(match packing {
        Packing::None => Box::new(whole),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
        Packing::Zstd => Box::new(zstd::Decoder::new(whole)?),
        Packing::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(whole)),
    })
}
