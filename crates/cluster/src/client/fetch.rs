//! Bringing a run here from a claim: a pod that mounts it, and in it a program that writes the run as a tar.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::AttachParams;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio_util::io::SyncIoBridge;

use crate::look::state;
use crate::{Error, Placed, State};

/// So much may be on its way here.
const ON_ITS_WAY: usize = 1 << 20;
/// So much of what a program complains of is kept.
const COMPLAINT: u64 = 4096;
/// So often it is told how much has come.
const TOLD: Duration = Duration::from_secs(1);
/// A tar is made of blocks of so many bytes, and ends with two of nothing.
const BLOCK: u64 = 512;
const END: usize = 1024;

impl Placed<'_> {
    /// Starts the pod that reads the run; its document is given. It has the name of the run, and goes with it.
    ///
    /// # Errors
    /// The API refuses, or does not answer.
    pub fn start_reader(&mut self, document: &Value) -> Result<(), Error> {
        self.reader = true;
        let mut document = document.clone();
        document["metadata"]["name"] = self.reader_name().into();
        self.cluster.create::<Pod>("Pod", &document).map(drop)
    }

    /// How that pod is.
    ///
    /// # Errors
    /// The API refuses, or does not answer.
    pub fn reader(&self) -> Result<State, Error> {
        let name = self.reader_name();
        let pod = self.cluster.ask(&format!("read the pod {name}"), self.cluster.api::<Pod>().get(&name))?;
        Ok(state(&pod))
    }

    /// Runs a program in the pod, which writes a tar to its standard output, and unpacks it into a folder; how many bytes came. `tell` hears
    /// of them meanwhile, and `stop` ends it.
    ///
    /// # Errors
    /// The program fails, not everything came, or it cannot be kept here.
    pub fn fetch(
        &self,
        program: &[&str],
        into: &Path,
        stop: &Arc<AtomicBool>,
        tell: &mut dyn FnMut(u64),
    ) -> Result<u64, Error> {
        let pods = self.cluster.api::<Pod>();
        let wanted = AttachParams::default().stdin(false).max_stdout_buf_size(ON_ITS_WAY);
        let name = self.reader_name();
        let mut running =
            self.cluster.ask(&format!("run a program in {name}"), pods.exec(&name, program.to_vec(), &wanted))?;
        let (Some(written), Some(complaint), Some(status)) =
            (running.stdout(), running.stderr(), running.take_status())
        else {
            return Err(Error::Unread { why: "there is no output".to_owned() });
        };
        let (unpacked, complaint, status) = self.cluster.runtime.block_on(async {
            let written = SyncIoBridge::new(written);
            let came = Arc::new(AtomicU64::new(0));
            let (into, counted, stopped) = (into.to_owned(), came.clone(), stop.clone());
            // On another thread: files are written there while this one reads what comes.
            let mut unpacking = tokio::task::spawn_blocking(move || unpack(written, &into, &counted, &stopped));
            let complaining = tokio::spawn(async move {
                let mut said = Vec::new();
                let _ = complaint.take(COMPLAINT).read_to_end(&mut said).await;
                String::from_utf8_lossy(&said).trim().to_owned()
            });
            let unpacked = loop {
                tokio::select! {
                    done = &mut unpacking => break done.unwrap_or_else(|why| Err(Failed::Here(io::Error::other(why)))),
                    () = tokio::time::sleep(TOLD) => tell(came.load(Relaxed)),
                }
            };
            if stop.load(Relaxed) || unpacked.is_err() {
                running.abort();
            }
            (unpacked, complaining.await.unwrap_or_default(), status.await)
        });
        if stop.load(Relaxed) {
            return Err(Error::Stopped);
        }
        let done = status.as_ref().is_some_and(|status| status.status.as_deref() == Some("Success"));
        if let Some(status) = status.filter(|_| !done) {
            let why = if complaint.is_empty() { status.message.unwrap_or_default() } else { complaint };
            return Err(Error::Unread { why });
        }
        match unpacked {
            Ok(bytes) if done => Ok(bytes),
            Ok(_) => Err(Error::Torn { why: "nothing says that the program has ended".to_owned() }),
            Err(Failed::Here(source)) => Err(Error::Unwritten { path: into.to_owned(), source }),
            Err(Failed::Torn(why)) => Err(Error::Torn { why }),
        }
    }
}

/// Why a tar was not unpacked.
enum Failed {
    /// It is not whole.
    Torn(String),
    /// This machine does not take it.
    Here(io::Error),
}

/// Unpacks a tar; how many bytes it had. What comes without an end is not whole.
fn unpack(from: impl Read, into: &Path, came: &AtomicU64, stop: &AtomicBool) -> Result<u64, Failed> {
    let mut archive = tar::Archive::new(Seen { from, last: Vec::new(), came, stop, failed: false });
    let unpacked = archive.unpack(into);
    let mut seen = archive.into_inner();
    match unpacked {
        Err(why) if seen.failed || is_of_archive(&why) => Err(Failed::Torn(why.to_string())),
        Err(why) => Err(Failed::Here(why)),
        Ok(()) => {
            io::copy(&mut seen, &mut io::sink()).map_err(|why| Failed::Torn(why.to_string()))?;
            // It is made of blocks; what fills the last one of a file is zeros as well.
            let is_of_blocks = came.load(Relaxed).is_multiple_of(BLOCK);
            let whole = is_of_blocks && seen.last.len() == END && seen.last.iter().all(|byte| *byte == 0);
            if whole { Ok(came.load(Relaxed)) } else { Err(Failed::Torn("it has no end".to_owned())) }
        }
    }
}

/// Whether an archive is what is wrong, and not the disk, whose errors have kinds of their own.
fn is_of_archive(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::Other)
}

/// What was read last, and how much in all.
struct Seen<'a, R> {
    from: R,
    last: Vec<u8>,
    came: &'a AtomicU64,
    stop: &'a AtomicBool,
    /// Whether it was the reading that failed.
    failed: bool,
}

impl<R: Read> Read for Seen<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Relaxed) {
            self.failed = true;
            return Err(io::Error::other("stopped"));
        }
        let read = self.from.read(into).inspect_err(|_| self.failed = true)?;
        self.came.fetch_add(read as u64, Relaxed);
        self.last.extend_from_slice(&into[read.saturating_sub(END)..read]);
        let older = self.last.len().saturating_sub(END);
        self.last.drain(..older);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn packed() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for name in ["workload.toml", "worker-1-of-2/events/part-0000.parquet"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(600);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, &[7; 600][..]).unwrap();
        }
        tar.into_inner().unwrap()
    }

    #[test]
    fn what_came_is_whole_or_it_is_not_taken() {
        let whole = packed();
        let came = |bytes: &[u8]| {
            let folder = tempfile::tempdir().unwrap();
            let bytes = unpack(bytes, folder.path(), &AtomicU64::new(0), &AtomicBool::new(false));
            (bytes, fs::read(folder.path().join("worker-1-of-2/events/part-0000.parquet")))
        };
        let (bytes, part) = came(&whole);
        assert_eq!(bytes.ok(), Some(whole.len() as u64));
        assert_eq!(part.unwrap(), [7; 600]);
        for shorter in (0..whole.len()).step_by(256) {
            assert!(matches!(came(&whole[..shorter]).0, Err(Failed::Torn(_))), "{shorter} of {}", whole.len());
        }
    }

    #[test]
    fn nothing_is_unpacked_beside_the_folder() {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..9].copy_from_slice(b"../beside");
        header.set_size(0);
        header.set_cksum();
        tar.append(&header, io::empty()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("in");
        fs::create_dir(&into).unwrap();
        let _ = unpack(&tar.into_inner().unwrap()[..], &into, &AtomicU64::new(0), &AtomicBool::new(false));
        assert!(!folder.path().join("beside").exists());
    }
}
