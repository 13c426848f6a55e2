//! Inputs: files, globs and standard input, plain or compressed, sorted by time and split for threads.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::format::{Format, FormatChoice, trimmed};

/// Number of bytes read to detect the format.
const HEAD: usize = 256 * 1024;
/// Minimum size in bytes of a part that gets its own thread.
const MIN_PART: u64 = 16 * 1024 * 1024;

/// A log file or standard input.
pub struct Input {
    /// Name as given, escaped for display.
    pub name: String,
    /// Path; `None` for standard input.
    path: Option<PathBuf>,
    /// Size on disk in bytes.
    size: u64,
    /// Whether the file is uncompressed.
    is_uncompressed: bool,
    /// Log format.
    pub(crate) format: Format,
    /// Time of the first entry.
    first: i64,
    /// Bytes of standard input that were read to detect the format.
    head: Vec<u8>,
}

/// Unit of work of a thread: a whole input, or the lines that start in a byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) input: usize,
    pub(crate) range: Option<(u64, u64)>,
}

/// Number of bytes read from all inputs, for a progress bar.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Bytes read so far (compressed size).
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

/// Opens the logs named by files, globs, or `-` for standard input, in order of their first entries.
///
/// # Errors
/// A file does not exist or cannot be read, or its format cannot be detected.
pub fn open_inputs(names: &[String], choice: &FormatChoice) -> Result<Vec<Input>, Error> {
    let mut inputs = Vec::new();
    for name in names {
        if name == "-" {
            inputs.push(Input::stdin(choice)?);
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
    fn file(path: PathBuf, choice: &FormatChoice) -> Result<Self, Error> {
        let name = path.display().to_string().escape_debug().to_string();
        let read = |why| Error::Read { file: name.clone(), reason: why };
        if path.is_dir() {
            let why = format!("is a directory; give its files, such as '{name}/*'");
            return Err(Error::Format { file: name, reason: why });
        }
        let mut file = File::open(&path).map_err(read)?;
        let size = file.metadata().map_err(read)?.len();
        let mut magic = Vec::new();
        (&mut file).take(6).read_to_end(&mut magic).map_err(read)?;
        let is_uncompressed = Compression::of(&magic) == Compression::None;
        let mut head = Vec::new();
        let reader = open(&path, Progress::default()).map_err(read)?;
        reader.take(HEAD as u64).read_to_end(&mut head).map_err(read)?;
        Self { name, path: Some(path), size, is_uncompressed, format: Format::Squid, first: 0, head: Vec::new() }
            .with_format(&head, choice)
    }

    fn stdin(choice: &FormatChoice) -> Result<Self, Error> {
        let name = "standard input".to_owned();
        let mut head = Vec::new();
        let read = |why| Error::Read { file: "standard input".to_owned(), reason: why };
        std::io::stdin().lock().take(HEAD as u64).read_to_end(&mut head).map_err(read)?;
        let mut text = Vec::new();
        // Compressed data may be truncated here; the first decompressed bytes are enough.
        let _ = decompressed(Cursor::new(head.clone())).map(|reader| reader.take(HEAD as u64).read_to_end(&mut text));
        Self { name, path: None, size: 0, is_uncompressed: false, format: Format::Squid, first: 0, head }
            .with_format(&text, choice)
    }

    fn with_format(mut self, head: &[u8], choice: &FormatChoice) -> Result<Self, Error> {
        self.format = choice.format(head).map_err(|why| Error::Format { file: self.name.clone(), reason: why })?;
        let mut format = self.format.clone();
        let record = format.record();
        let mut lines: Box<dyn Iterator<Item = &[u8]>> = match record {
            Some(size) => Box::new(head.chunks(size)),
            None => Box::new(head.split(|b| *b == b'\n').map(trimmed)),
        };
        self.first = lines.find_map(|line| Some(format.parse(line).ok()??.time)).unwrap_or(i64::MAX);
        Ok(self)
    }

    /// Size on disk in bytes; 0 for standard input.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the input is standard input, which can be read only once.
    pub fn is_stdin(&self) -> bool {
        self.path.is_none()
    }

    /// Opens the decompressed bytes, from offset `from` if the file is uncompressed.
    pub(crate) fn open(&self, from: u64, progress: Progress) -> std::io::Result<Box<dyn Read>> {
        match &self.path {
            None => decompressed(Cursor::new(self.head.clone()).chain(std::io::stdin())),
            Some(path) if from > 0 => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(from))?;
                Ok(Box::new(Counted(file, progress)))
            }
            Some(path) => open(path, progress),
        }
    }
}

/// Splits `inputs` into pieces for `threads` threads, in order.
pub(crate) fn pieces(inputs: &[Input], threads: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let parts = if input.is_uncompressed && input.format.is_splittable() {
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

/// Compression of a file, detected by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
    Bzip2,
}

impl Compression {
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
    decompressed(Counted(File::open(path)?, progress))
}

fn decompressed(mut raw: impl Read + 'static) -> std::io::Result<Box<dyn Read>> {
    let mut magic = Vec::new();
    raw.by_ref().take(6).read_to_end(&mut magic)?;
    let compression = Compression::of(&magic);
    let whole = Cursor::new(magic).chain(raw);
    Ok(match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
        Compression::Zstd => Box::new(zstd::Decoder::new(whole)?),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(whole)),
    })
}
