//! Servers for other protocols, from Python packages.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use crate::harness::{Missing, needs};
use crate::process::{Process, ended, soon};

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Whether Python has these modules.
fn has(modules: &str) -> bool {
    Command::new("python3").args(["-c", &format!("import {modules}")]).output().is_ok_and(|o| o.status.success())
}

/// A running server, and the lines that it received.
pub(crate) struct Server {
    process: Process,
    log: std::path::PathBuf,
    pub(crate) url: String,
}

impl Server {
    /// Starts `orders.py`; its descriptors are `orders.binpb` in `folder`.
    pub(crate) fn orders(folder: &Path) -> Result<Self, Missing> {
        needs("grpc", has("grpc, grpc_reflection"))?;
        let descriptors = folder.join("orders.binpb");
        Ok(Self::start(folder, "orders.py", &[descriptors.to_str().unwrap()]))
    }

    /// Starts `chat.py`.
    pub(crate) fn chat(folder: &Path) -> Result<Self, Missing> {
        needs("websockets", has("websockets.sync.server"))?;
        Ok(Self::start(folder, "chat.py", &[]))
    }

    /// Starts `llama.py`, and waits for its model.
    pub(crate) fn llama(folder: &Path) -> Result<Self, Missing> {
        needs("llama", has("gguf, numpy, xllamacpp"))?;
        let server = Self::start(folder, "llama.py", &[]);
        // The engine lists its model before it is loaded, and refuses other requests until then.
        let health = format!("{}/health", server.url);
        let is_ready = || ended(&["run", &health, "--once"]).stdout.contains("\"ok\"").then_some(());
        assert!(soon(is_ready).is_some(), "the engine does not load its model");
        Ok(server)
    }

    fn start(folder: &Path, script: &str, args: &[&str]) -> Self {
        let (port, log) = (free_port(), folder.join("server.log"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/live/servers").join(script);
        let mut command = Command::new("python3");
        command.arg(script).arg(port.to_string()).args(args).arg(&log);
        let mut process = Process::start(command);
        let listens = soon(|| match TcpStream::connect(("127.0.0.1", port)) {
            Ok(_) => Some(true),
            Err(_) => (!process.is_running()).then_some(false),
        });
        assert_eq!(listens, Some(true), "the server does not listen");
        Self { process, log, url: format!("http://127.0.0.1:{port}") }
    }

    /// Lines received so far.
    pub(crate) fn told(&self) -> Vec<String> {
        std::fs::read_to_string(&self.log).unwrap().lines().map(str::to_owned).collect()
    }

    /// Stops it and returns the lines that it received.
    pub(crate) fn stop(self) -> Vec<String> {
        drop(self.process);
        std::fs::read_to_string(self.log).unwrap().lines().map(str::to_owned).collect()
    }
}
