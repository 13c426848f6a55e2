//! The program under test, its input files, and the server for the tools.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Missing, needs};

/// `offered` with these arguments.
pub(crate) fn offered(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
    command.args(args).env_remove("COLUMNS").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Output of a command, which must succeed.
pub(crate) fn printed(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Verdict on a file, with further arguments.
pub(crate) fn verdict(file: &str, more: &[&str]) -> Value {
    let args = [&["verify", file, "--json"], more].concat();
    serde_json::from_str(&printed(offered(&args))).unwrap()
}

/// The last row of a table: `Total`.
pub(crate) fn total<'a>(verdict: &'a Value, table: &str) -> &'a Value {
    verdict[table].as_array().and_then(|rows| rows.last()).unwrap_or_else(|| panic!("no table {table} in {verdict}"))
}

/// Path of a file in `../shared`, which is not part of the project.
pub(crate) fn shared(name: &str) -> Result<String, Missing> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    needs("shared", path.is_file())?;
    Ok(path.to_str().unwrap().to_owned())
}

/// Path of a file written by other tools or servers.
pub(crate) fn real(name: &str) -> Result<String, Missing> {
    shared(&format!("data/{name}"))
}

/// A server, stopped when the test ends.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    /// Starts it on a free port, with exponential service times of 2 ms.
    pub(crate) fn start() -> Self {
        let mut command = offered(&["serve", "--listen", "127.0.0.1:0", "--service", "exponential:2ms"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address").to_owned();
        Self { child, url: format!("{url}/") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
