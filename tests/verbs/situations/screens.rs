//! The first screens as files for a reader who does not know the situations: `OFFERED_SCREENS=/tmp/screens cargo test --test verbs situations`
//! writes `00.txt`, `01.txt`, ... in an order without meaning, and `key.txt` with what each of them should tell.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use super::Situation;

/// Writes the screen of the situation with this number, and its line of the key, if a folder for them is set.
pub(super) fn write(number: usize, situation: &Situation, screen: &str, document: &Value) {
    /// Coprime to 100, so that the numbers differ; neighbours in the table are apart.
    const STEP: usize = 29;
    let Some(folder) = std::env::var_os("OFFERED_SCREENS") else { return };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder).unwrap();
    let name = format!("{:02}", number * STEP % 100);
    fs::write(folder.join(format!("{name}.txt")), format!("$ offered verify run\n{screen}")).unwrap();
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let fixes: Vec<&str> = words.split("fix: ").skip(1).map(|fix| fix.split(" warning:").next().unwrap()).collect();
    let key = format!(
        "{name} {}\n  verdict   {} {}, exit {}\n  cause     {}\n  next step {}\n",
        situation.name,
        situation.begins,
        situation.validity,
        situation.exit,
        document["reason"].as_str().unwrap(),
        fixes.join(" | ")
    );
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join("key.txt")).unwrap();
    file.write_all(key.as_bytes()).unwrap();
}
