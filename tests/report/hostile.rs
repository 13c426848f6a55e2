//! A result file with hostile labels.

use std::fs;
use std::path::{Path, PathBuf};

/// Labels that try to start, end or break a script, as rows of a JMeter file.
const HOSTILE: [&str; 5] = [
    "</script><script>document.title='ran'</script>",
    "<img src=x onerror=\"document.title='ran'\">",
    "\" onmouseover=\"document.title='ran'",
    "<a href=\"javascript:document.title='ran'\">click</a> \u{2028}\u{2029} ${alert(1)} {{7*7}}",
    "=cmd|' /C calc'!A0 %{x} &lt;b&gt;",
];

/// A JMeter file with hostile labels, errors and name.
pub(crate) fn hostile(folder: &Path) -> PathBuf {
    let name = "<img src=x onerror=document.title=1>.jtl";
    let mut rows = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,Latency\n".to_owned();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    for i in 0..500u64 {
        let label = quoted(HOSTILE[(i % 5) as usize]);
        // Gaps that are neither equal nor sorted.
        let at = 1_600_000_000_000 + i * 40 + (i * i * 31) % 37;
        let (success, code) = if i % 7 == 0 { ("false", "500") } else { ("true", "200") };
        rows += &format!("{at},{},{label},{code},{label},{label} 1-{},{success},100,5\n", 10 + i % 90, i % 9);
    }
    fs::write(folder.join(name), rows).unwrap();
    folder.join(name)
}
