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
    // The lines of a fix after its first are indented.
    let is_fix = |(number, line): &(usize, &str)| *number == 0 || line.starts_with("   ");
    let lines = |fix: &str| {
        flat(&fix.lines().enumerate().take_while(is_fix).map(|(_, line)| line).collect::<Vec<_>>().join(" "))
    };
    let fixes: Vec<String> = screen.split("fix: ").skip(1).map(lines).collect();
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

/// The text without line breaks and alignment.
pub(super) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a reason, up to the age of a heartbeat.
pub(super) fn without_ages(reason: &str) -> &str {
    [" (no heartbeat", " (last heartbeat"].iter().fold(reason, |reason, age| reason.split(age).next().unwrap())
}

/// Whether the percentage of the line on the stability is that of its two rates, and whether the requests that completed during
/// the analysed time and later are those of the table.
pub(super) fn figures_add_up(words: &str, document: &Value) -> bool {
    let share_is_known = words.split("stability: only ").nth(1).is_none_or(|text| {
        let rate = |text: &str| text.split("/s").next().unwrap().parse::<f64>().unwrap();
        let (percent, rest) = text.split_once(" % of the ").unwrap();
        let (sent, all) = rest.split_once(" sent: ").unwrap().1.split_once(" of ").unwrap();
        format!("{:.0}", 100.0 * rate(sent) / rate(all)) == percent
    });
    let number = |path: &str| document.pointer(path).and_then(Value::as_f64).unwrap_or_default();
    let total = document["requests"].as_array().and_then(|rows| rows.last()).unwrap();
    let (ok, failed) = (total["ok"].as_f64().unwrap(), total["failed"] != total["not_sent"]);
    let during = number("/stability/completed_rate_per_s") * (number("/window/end_s") - number("/window/start_s"));
    let responses_are_known = failed || (during + number("/stability/completed_later") - ok).abs() < 1.0;
    share_is_known && responses_are_known
}
