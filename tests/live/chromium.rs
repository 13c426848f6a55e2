//! A headless Chromium, controlled by its `DevTools` protocol over a WebSocket.

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::harness::{Missing, needs};

/// A browser with one page, stopped when dropped.
pub(crate) struct Chromium {
    child: Child,
    socket: WebSocket<TcpStream>,
    /// Session of the page that receives commands; `None` for the browser itself.
    session: Option<String>,
    commands: u64,
    /// Console output of pages, including errors and blocked scripts.
    console: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts a browser.
    pub(crate) fn start() -> Result<Self, Missing> {
        let profile = tempfile::tempdir().unwrap();
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let child = names.into_iter().find_map(|name| launch(name, &profile));
        needs("chromium", child.is_some())?;
        let mut child = child.unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url =
            lines.map_while(Result::ok).find_map(|line| Some(line.split_once("listening on ws://")?.1.to_owned()));
        let url = url.expect("Chromium says where it listens");
        let stream = TcpStream::connect(url.split('/').next().unwrap()).unwrap();
        // Long enough that only a stuck browser is given up, and not a busy machine.
        stream.set_read_timeout(Some(Duration::from_secs(240))).unwrap();
        let (socket, _) = tungstenite::client(format!("ws://{url}"), stream).unwrap();
        let mut browser = Self { child, socket, session: None, commands: 0, console: Vec::new(), _profile: profile };
        let target = browser.command("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.command("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.command("Runtime.enable", json!({}));
        browser.command("Log.enable", json!({}));
        Ok(browser)
    }

    /// Opens `url`.
    pub(crate) fn open(&mut self, url: &str) {
        let opened = self.command("Page.navigate", json!({ "url": url }));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
    }

    /// Console output so far.
    pub(crate) fn console(&self) -> &[String] {
        &self.console
    }

    /// Value of a JavaScript expression in the page, awaited; `null` if it throws, as all do while a page loads.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let wanted = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        self.command("Runtime.evaluate", wanted)["result"]["value"].clone()
    }

    /// Text of the element with this id; empty without such an element.
    pub(crate) fn text(&mut self, id: &str) -> String {
        let value = self.value(&format!("document.getElementById('{id}').textContent"));
        value.as_str().unwrap_or_default().to_owned()
    }

    fn command(&mut self, method: &str, params: Value) -> Value {
        self.commands += 1;
        let mut command = json!({ "id": self.commands, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(command.to_string())).unwrap();
        loop {
            let text = match self.socket.read() {
                Ok(Message::Text(text)) => text,
                Ok(_) => continue,
                // A wait with a timeout ends like this when the process was suspended.
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => panic!("{error}"),
            };
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == self.commands {
                return answer["result"].clone();
            }
            // Only the console events matter.
            let method = answer["method"].as_str().unwrap_or_default();
            if ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"].contains(&method) {
                self.console.push(answer["params"].to_string());
            }
        }
    }
}

fn launch(name: &str, profile: &tempfile::TempDir) -> Option<Child> {
    let profile = format!("--user-data-dir={}", profile.path().display());
    // No sandbox: tests run as root in containers and only open our own pages.
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"];
    let mut command = Command::new(name);
    command.args(flags).args([&profile, "about:blank"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Its helper processes end with it when it closes regularly.
        self.session = None;
        let close = json!({ "id": 0, "method": "Browser.close" });
        if self.socket.send(Message::text(close.to_string())).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
