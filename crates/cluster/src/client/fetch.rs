//! Fetching a run from its claim: a pod mounts the claim, and a program in it writes the run as a tar archive.

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

use super::status::state;
use super::{ClusterRun, Error, PodState};

/// Bytes buffered between the connection and the archive reader.
const BUFFER: usize = 1 << 20;
/// Maximum number of stored bytes of the program's standard error.
const MAX_STDERR: u64 = 4096;
/// Time between progress reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of a block of a tar archive.
const BLOCK: u64 = 512;
/// A tar archive ends with two blocks of zeros.
const END: usize = 1024;

impl ClusterRun<'_> {
    /// Creates the pod that reads the run, from its manifest. It is named after the run and deleted with it.
    ///
    /// # Errors
    /// The API refuses, or does not respond.
    pub fn start_reader(&mut self, document: &Value) -> Result<(), Error> {
        self.has_reader = true;
        let mut document = document.clone();
        document["metadata"]["name"] = self.reader_name().into();
        self.cluster.create::<Pod>("Pod", &document).map(drop)
    }

    /// The state of that pod.
    ///
    /// # Errors
    /// The API refuses, or does not respond.
    pub fn reader_state(&self) -> Result<PodState, Error> {
        let name = self.reader_name();
        let pod = self.cluster.block_on(&format!("read the pod {name}"), self.cluster.api::<Pod>().get(&name))?;
        Ok(state(&pod))
    }

    /// Runs `program` in the pod, which writes a tar archive to its standard output, and unpacks it into the directory `into`. Returns the
    /// number of bytes received. `progress` gets the bytes received so far, about once a second. Setting `stop` ends the transfer.
    ///
    /// # Errors
    /// The program fails, the archive is incomplete, or it cannot be written.
    pub fn fetch(
        &self,
        program: &[&str],
        into: &Path,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, Error> {
        let pods = self.cluster.api::<Pod>();
        let params = AttachParams::default().stdin(false).max_stdout_buf_size(BUFFER);
        let name = self.reader_name();
        let mut running =
            self.cluster.block_on(&format!("run a program in {name}"), pods.exec(&name, program.to_vec(), &params))?;
        let (Some(stdout), Some(stderr), Some(status)) = (running.stdout(), running.stderr(), running.take_status())
        else {
            return Err(Error::Read { reason: "the program has no output".to_owned() });
        };
        let (unpacked, stderr, status) = self.cluster.runtime.block_on(async {
            let archive = SyncIoBridge::new(stdout);
            let received = Arc::new(AtomicU64::new(0));
            let (into, counted, stopped) = (into.to_owned(), received.clone(), stop.clone());
            // Files are written on another thread while this one reads the connection.
            let mut unpacking = tokio::task::spawn_blocking(move || unpack(archive, &into, &counted, &stopped));
            let messages = tokio::spawn(async move {
                let mut text = Vec::new();
                let _ = stderr.take(MAX_STDERR).read_to_end(&mut text).await;
                String::from_utf8_lossy(&text).trim().to_owned()
            });
            let unpacked = loop {
                tokio::select! {
                    done = &mut unpacking => break done.unwrap_or_else(|error| Err(UnpackError::Write(io::Error::other(error)))),
                    () = tokio::time::sleep(REPORT_INTERVAL) => progress(received.load(Relaxed)),
                }
            };
            if stop.load(Relaxed) || unpacked.is_err() {
                running.abort();
            }
            (unpacked, messages.await.unwrap_or_default(), status.await)
        });
        if stop.load(Relaxed) {
            return Err(Error::Stopped);
        }
        let done = status.as_ref().is_some_and(|status| status.status.as_deref() == Some("Success"));
        if let Some(status) = status.filter(|_| !done) {
            let reason = if stderr.is_empty() { status.message.unwrap_or_default() } else { stderr };
            return Err(Error::Read { reason });
        }
        match unpacked {
            Ok(bytes) if done => Ok(bytes),
            Ok(_) => Err(Error::Incomplete { reason: "the cluster did not report the end of the program".to_owned() }),
            Err(UnpackError::Write(source)) => Err(Error::Write { path: into.to_owned(), source }),
            Err(UnpackError::Incomplete(reason)) => Err(Error::Incomplete { reason }),
        }
    }
}

/// Why an archive was not unpacked.
enum UnpackError {
    /// The archive is incomplete or damaged.
    Incomplete(String),
    /// A file cannot be written.
    Write(io::Error),
}

/// Unpacks a tar archive and returns its number of bytes. An archive without its end marker is incomplete.
fn unpack(from: impl Read, into: &Path, received: &AtomicU64, stop: &AtomicBool) -> Result<u64, UnpackError> {
    let mut archive = tar::Archive::new(ArchiveReader { from, last: Vec::new(), received, stop, failed: false });
    let unpacked = archive.unpack(into);
    let mut reader = archive.into_inner();
    match unpacked {
        Err(error) if reader.failed || is_archive_error(&error) => Err(UnpackError::Incomplete(error.to_string())),
        Err(error) => Err(UnpackError::Write(error)),
        Ok(()) => {
            io::copy(&mut reader, &mut io::sink()).map_err(|error| UnpackError::Incomplete(error.to_string()))?;
            // The padding after a file is zeros too: zeros at the end of whole blocks only mark the end.
            let is_whole_blocks = received.load(Relaxed).is_multiple_of(BLOCK);
            let whole = is_whole_blocks && reader.last.len() == END && reader.last.iter().all(|byte| *byte == 0);
            if whole {
                Ok(received.load(Relaxed))
            } else {
                Err(UnpackError::Incomplete("the archive is truncated".to_owned()))
            }
        }
    }
}

/// Whether the archive caused this error, and not the disk.
fn is_archive_error(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::Other)
}

/// Reads an archive, and keeps its last bytes and its length.
struct ArchiveReader<'a, R> {
    from: R,
    last: Vec<u8>,
    received: &'a AtomicU64,
    stop: &'a AtomicBool,
    /// Whether reading failed, rather than writing.
    failed: bool,
}

impl<R: Read> Read for ArchiveReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Relaxed) {
            self.failed = true;
            return Err(io::Error::other("stopped"));
        }
        let read = self.from.read(into).inspect_err(|_| self.failed = true)?;
        self.received.fetch_add(read as u64, Relaxed);
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
    fn an_incomplete_archive_is_an_error() {
        let whole = packed();
        let fetch = |bytes: &[u8]| {
            let folder = tempfile::tempdir().unwrap();
            let bytes = unpack(bytes, folder.path(), &AtomicU64::new(0), &AtomicBool::new(false));
            (bytes, fs::read(folder.path().join("worker-1-of-2/events/part-0000.parquet")))
        };
        let (bytes, part) = fetch(&whole);
        assert_eq!(bytes.ok(), Some(whole.len() as u64));
        assert_eq!(part.unwrap(), [7; 600]);
        for shorter in (0..whole.len()).step_by(256) {
            assert!(
                matches!(fetch(&whole[..shorter]).0, Err(UnpackError::Incomplete(_))),
                "{shorter} of {}",
                whole.len()
            );
        }
    }

    #[test]
    fn nothing_is_unpacked_outside_the_directory() {
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
