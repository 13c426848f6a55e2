//! Serves the files of a directory over an uplink of known rate, which the discipline shares between the responses.
//!
//! A file's work is the transfer time of its bytes on the uplink. While a job is in service, its file is sent as far as
//! the discipline has served it, one segment at a time. Waiting bytes stay in this process and not in a socket.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use offered_base::{InvalidValue, Nanos};
use percent_encoding::percent_decode_str;

use crate::Error;
use crate::codec::Head;
use crate::demand::{Demand, Work};
use crate::open_file::OpenFile;
use crate::response::Response;
use crate::routes::{Route, Routes};

/// Minimum number of bytes to send at once. Fewer would produce packets of a few bytes when many responses share the
/// uplink.
pub(crate) const SEGMENT: u64 = 1448;
/// Bounds of the interval at which transfers are advanced; the interval is the transfer time of a segment.
const PROGRESS_INTERVAL: (Nanos, Nanos) = (Nanos::from_micros(200), Nanos::from_millis(10));
/// Socket send buffer, which the discipline does not control: the bytes of this transfer time, and this minimum in
/// bytes.
const SEND_BUFFER: (Nanos, usize) = (Nanos::from_millis(10), 16 * 1024);

/// Bits per second, such as `10mbit`. Units: `bit`, `kbit`, `mbit`, `gbit`, in steps of 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRate(u64);

impl FromStr for BitRate {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong =
            || InvalidValue::new(format!("`{text}` is not a bit rate; write for example 10mbit, 1.5gbit or 500kbit"));
        let number = text.strip_suffix("bit").ok_or_else(wrong)?;
        let (number, unit) = match number.as_bytes().last() {
            Some(b'k') => (&number[..number.len() - 1], 1e3),
            Some(b'm') => (&number[..number.len() - 1], 1e6),
            Some(b'g') => (&number[..number.len() - 1], 1e9),
            _ => (number, 1.0),
        };
        let bits = number.parse::<f64>().map_err(|_| wrong())? * unit;
        // From one byte per second to far above any network interface.
        if (8.0..=1e13).contains(&bits) { Ok(Self(bits.round() as u64)) } else { Err(wrong()) }
    }
}

impl BitRate {
    /// Transfer time of `bytes` bytes, rounded up.
    fn time(self, bytes: u64) -> Nanos {
        let nanos = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(self.0));
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 4))
    }

    /// Number of whole bytes transferred in `time`.
    pub(crate) fn bytes(self, time: Nanos) -> u64 {
        u64::try_from(u128::from(time.0) * u128::from(self.0) / 8_000_000_000).unwrap_or(u64::MAX)
    }
}

/// A directory of files to serve, and the rate in bits per second at which each server of the discipline sends them.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
    pub(crate) rate: BitRate,
}

impl Files {
    /// The files of a directory and its subdirectories.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn new(folder: &Path, rate: BitRate) -> Result<Self, Error> {
        let root = folder.canonicalize().and_then(|root| std::fs::read_dir(&root).map(|_| root));
        let root = root.map_err(|source| Error::Files { path: folder.to_owned(), source })?;
        Ok(Self { root, rate })
    }

    /// Maximum interval between two advances of the transfers.
    pub(crate) fn progress_interval(&self) -> Nanos {
        self.rate.time(SEGMENT).clamp(PROGRESS_INTERVAL.0, PROGRESS_INTERVAL.1)
    }

    /// Size of the socket send buffer, in bytes.
    pub(crate) fn send_buffer(&self) -> usize {
        usize::try_from(self.rate.bytes(SEND_BUFFER.0)).unwrap_or(usize::MAX).clamp(SEND_BUFFER.1, 1 << 30)
    }

    /// The demand of a request for a file. Its class is that of its path.
    pub(crate) fn demand(&self, head: &Head<'_>, routes: &Routes) -> Demand {
        let target = match head.target.split_once("://") {
            Some((_, rest)) if !head.target.starts_with('/') => rest.find('/').map_or("/", |path| &rest[path..]),
            _ => head.target,
        };
        let class = routes.find(head.method, target).map_or(routes.default_class(), |Route { class, .. }| class);
        let response = |response| Demand { class, work: None, pause: None, response };
        if !matches!(head.method, "GET" | "HEAD") {
            return response(Response::Status(405));
        }
        let opened = match self.open(target) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return response(Response::Status(403)),
            // File descriptors or memory are exhausted.
            Err(error) if rustix::io::Errno::from_io_error(&error).is_some_and(is_resource_limit) => {
                return response(Response::Status(503));
            }
            Err(_) => return response(Response::Status(404)),
        };
        let work = (!head.bodiless).then(|| Work::Fixed(self.rate.time(opened.length)));
        Demand { class, work, pause: None, response: Response::File(opened) }
    }

    /// Opens the file of a target; for a directory, its `index.html`.
    ///
    /// Nothing outside the directory is opened: `..` is refused, also when percent-encoded, and links are resolved
    /// before the check.
    fn open(&self, target: &str) -> io::Result<OpenFile> {
        let absent = || io::Error::from(io::ErrorKind::NotFound);
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let path = percent_decode_str(path).decode_utf8().map_err(|_| absent())?;
        let relative = Path::new(path.trim_start_matches('/'));
        if path.contains('\0')
            || !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return Err(absent());
        }
        let mut path = self.root.join(relative).canonicalize()?;
        if path.is_dir() {
            path = path.join("index.html").canonicalize()?;
        }
        // Opening a special file, such as a pipe, could block.
        if !path.starts_with(&self.root) || !path.metadata()?.is_file() {
            return Err(absent());
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(OpenFile { file, length })
    }
}

fn is_resource_limit(errno: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM].contains(&errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> BitRate {
        text.parse().unwrap()
    }

    #[test]
    fn bit_rates_are_parsed() {
        assert_eq!(
            [rate("10mbit"), rate("1.5gbit"), rate("64000bit")],
            [BitRate(10_000_000), BitRate(1_500_000_000), BitRate(64_000)]
        );
        for wrong in ["10", "10mbps", "mbit", "-1mbit", "0bit", "NaNbit", "1e99gbit", "10 mbit", ""] {
            let why = wrong.parse::<BitRate>().unwrap_err().to_string();
            assert!(why.contains("10mbit"), "{wrong}: {why}");
        }
    }

    #[test]
    fn bytes_and_transfer_times_are_consistent() {
        let link = rate("10mbit");
        assert_eq!(link.time(12_500), Nanos::from_millis(10));
        assert_eq!(
            (link.bytes(Nanos::from_millis(10)), link.bytes(Nanos(799)), link.bytes(Nanos(800))),
            (12_500, 0, 1)
        );
        assert_eq!(rate("8bit").time(u64::MAX), Nanos(u64::MAX / 4), "longer than any clock");
    }

    #[test]
    fn nothing_outside_the_directory_is_served() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("www");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(around.path().join("secret"), "no").unwrap();
        std::fs::write(folder.join("a b"), "ok!").unwrap();
        std::fs::write(folder.join("sub/index.html"), "index").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("out")).unwrap();
        std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
        std::os::unix::fs::symlink("a b", folder.join("in")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        let files = Files::new(&folder, rate("10mbit")).unwrap();
        let length = |target: &str| files.open(target).ok().map(|opened| opened.length);
        for (target, found) in [
            ("/a%20b", Some(3)),
            ("/a%20b?x=/../..", Some(3)),
            ("/in", Some(3)),
            ("//a%20b", Some(3)),
            ("/sub", Some(5)),
            ("/sub/", Some(5)),
            ("/./sub/index.html", Some(5)),
            ("/", None),
            ("/out", None),
            ("/up/secret", None),
            ("/../secret", None),
            ("/%2e%2e/secret", None),
            ("/sub/..%2f../secret", None),
            ("/sub/../a%20b", None),
            ("/a%20b%00", None),
            ("/%ff", None),
            ("/socket", None),
            ("/etc/passwd", None),
            ("//etc/passwd", None),
        ] {
            assert_eq!(length(target), found, "{target}");
        }
        assert!(
            Files::new(&folder.join("a b"), rate("1mbit")).is_err()
                && Files::new(&folder.join("none"), rate("1mbit")).is_err()
        );
    }
}
