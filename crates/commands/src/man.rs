//! `offered man`: writes the manual pages that packages install.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;

/// Write the manual pages into a directory: offered.1, offered-run.1, ...
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory, created if missing; existing pages are overwritten
    directory: PathBuf,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    fs::create_dir_all(&args.directory).map_err(|error| cannot_write(&args.directory, &error))?;
    let pages = write_pages(command, "offered", &args.directory)?;
    out!("{pages} pages in {}", args.directory.display());
    Ok(Exit::Done)
}

/// Writes the page of `command` and those of its subcommands; returns their number.
fn write_pages(command: Command, name: &str, directory: &Path) -> Result<usize, Failure> {
    let subcommands: Vec<Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let path = directory.join(format!("{name}.1"));
    // The title of a page is the name of its file: `offered-plan-solve`.
    let leaked: &'static str = name.to_owned().leak();
    fs::write(&path, page(command.name(leaked))).map_err(|error| cannot_write(&path, &error))?;
    subcommands.into_iter().try_fold(1, |pages, subcommand| {
        let name = format!("{name}-{}", subcommand.get_name());
        Ok(pages + write_pages(subcommand, &name, directory)?)
    })
}

/// The manual page of `command`.
fn page(command: Command) -> Vec<u8> {
    let after_help = command.get_after_help().map(ToString::to_string);
    let has_subcommands = command.get_subcommands().any(|command| !command.is_hide_set());
    // Its lines are kept: most are commands.
    let mut examples = Roff::new();
    if let Some(text) = after_help {
        examples.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in text.lines() {
            examples.text([roman(line)]);
        }
        examples.control("fi", []);
    }
    let man = Man::new(command).manual("Offered Manual");
    let mut page = Vec::new();
    let sections = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .and_then(|()| if has_subcommands { man.render_subcommands_section(&mut page) } else { Ok(()) })
        .and_then(|()| examples.to_writer(&mut page));
    sections.expect("memory takes all");
    page
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::stopped(format!("cannot write {}: {error}", path.display()))
}
