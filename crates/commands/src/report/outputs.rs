//! The output files of a report: the extension names the format.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One HTML page with tables and charts
    Html,
    /// Markdown for a pull request: at most 15 lines, details folded
    Md,
    /// JUnit XML for a CI system: the results that can fail the build
    Junit,
    /// One JSON document with every number of the report
    Json,
}

/// The extensions of each format, the usual one first.
const EXTENSIONS: [(Format, &[&str]); 4] = [
    (Format::Html, &["html", "htm"]),
    (Format::Md, &["md", "markdown"]),
    (Format::Junit, &["xml"]),
    (Format::Json, &["json"]),
];

/// The files with their formats. `format` is that of the command line, which decides for a file without a known extension.
pub(super) fn of(files: &[PathBuf], format: Option<Format>) -> Result<Vec<(&Path, Format)>, Failure> {
    files.iter().map(|file| Ok((file.as_path(), of_file(file, format)?))).collect()
}

fn of_file(file: &Path, format: Option<Format>) -> Result<Format, Failure> {
    let shown = file.display();
    match (by_extension(file), format) {
        (Some(own), Some(asked)) if own != asked => {
            let extension = EXTENSIONS.iter().find(|(format, _)| *format == asked).map_or("", |(_, known)| known[0]);
            Err(Failure::input(format!(
                "{shown}: the extension and --format name different formats; remove --format, or write a .{extension} file"
            )))
        }
        (Some(format), _) | (None, Some(format)) => Ok(format),
        (None, None) if has_extension(file, "pdf") => Err(Failure::input(format!(
            "{shown}: PDF is not supported; write .html and print it in a browser, or write .md, .xml (JUnit) or .json"
        ))),
        (None, None) => Err(Failure::input(format!(
            "{shown}: unknown extension; write .html, .md, .xml (JUnit) or .json, or add --format"
        ))),
    }
}

/// The format that the extension names.
pub(crate) fn by_extension(file: &Path) -> Option<Format> {
    let is = |known: &[&str]| known.iter().any(|known| has_extension(file, known));
    EXTENSIONS.iter().find(|(_, known)| is(known)).map(|(format, _)| *format)
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_names_the_format() {
        let format = |file: &str, format| match of_file(Path::new(file), format) {
            Ok(format) => Ok(format),
            Err(Failure::Input(why) | Failure::Stopped(why)) => Err(why),
        };
        for (file, expected) in [
            ("a.html", Format::Html),
            ("b/A.HTM", Format::Html),
            ("x.md", Format::Md),
            ("junit.xml", Format::Junit),
            ("all.json", Format::Json),
        ] {
            assert_eq!(format(file, None), Ok(expected), "{file}");
        }
        assert_eq!(format("/dev/stdout", Some(Format::Md)), Ok(Format::Md));
        assert_eq!(format("x.md", Some(Format::Md)), Ok(Format::Md));
        for (file, asked, words) in [
            ("x.md", Some(Format::Junit), "write a .xml file"),
            ("report", None, ".html, .md, .xml (JUnit) or .json"),
            ("report.txt", None, "--format"),
            ("report.pdf", None, "print it in a browser"),
        ] {
            assert!(format(file, asked).unwrap_err().contains(words), "{file}");
        }
    }
}
