//! A headless Chromium, where there is one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A browser to open pages with.
pub(crate) struct Browser(PathBuf);

/// What came of opening a page.
pub(crate) struct Seen {
    /// The document after its scripts have run.
    pub(crate) dom: String,
    /// What was written to the console, errors and refused scripts among it.
    pub(crate) console: Vec<String>,
}

impl Browser {
    /// The first of the usual names on the path.
    pub(crate) fn find() -> Option<Self> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let path = std::env::var_os("PATH")?;
        let places = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
        places.into_iter().find(|place| place.is_file()).map(Self)
    }

    /// Opens a page in a window so high that all of it is seen, and waits until its scripts are done.
    pub(crate) fn open(&self, page: &Path) -> Seen {
        let profile = tempfile::tempdir().unwrap();
        let output = Command::new(&self.0)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", "--enable-logging=stderr"])
            .args(["--window-size=1280,30000", "--virtual-time-budget=20000", "--timeout=60000"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        let console = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
        Seen { dom: String::from_utf8_lossy(&output.stdout).into_owned(), console }
    }
}
