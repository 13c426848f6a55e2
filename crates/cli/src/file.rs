//! Text files, read with errors that name them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use offered_simulate::swf::Swf;

use crate::exit::Failure;

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|why| Failure::input(format!("cannot read {}: {why}", path.display())))?;
    String::from_utf8(bytes).map_err(|_| Failure::input(format!("{} is not a text file", path.display())))
}

/// So many broken lines of a log are shown.
const LISTED: usize = 10;

/// Reads the files that a workload names, which stand beside it.
pub(crate) fn beside(workload: Option<&Path>) -> impl Fn(&str) -> Result<Vec<u8>, String> + use<> {
    let folder = workload.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    move |name| named(&folder.join(name), name)
}

/// What is in a file that a workload names, unzipped; of a log in Standard Workload Format (`.swf`), its run times.
fn named(path: &Path, name: &str) -> Result<Vec<u8>, String> {
    let file = BufReader::new(File::open(path).map_err(|why| why.to_string())?);
    let kind = name.to_ascii_lowercase();
    let (plain, zipped) = kind.strip_suffix(".gz").map_or((kind.as_str(), false), |plain| (plain, true));
    let mut content: Box<dyn BufRead> =
        if zipped { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
    if plain.strip_suffix(".swf").is_none() {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(|why| why.to_string())?;
        return Ok(bytes);
    }
    let swf = Swf::read(name, content).map_err(|wrong| wrong.to_string())?;
    if !swf.broken.is_empty() {
        eprintln!("warning: {} lines of {name} are broken and left out:", swf.broken.len());
        swf.broken.iter().take(LISTED).for_each(|line| eprintln!("  {line}"));
        if swf.broken.len() > LISTED {
            eprintln!("  and {} more", swf.broken.len() - LISTED);
        }
    }
    Ok(swf.run_times.iter().map(f64::to_string).collect::<Vec<_>>().join("\n").into_bytes())
}
