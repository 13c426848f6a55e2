//! `offered completions`: prints the completion script of a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Once, for the current user:
  bash         offered completions bash > ~/.local/share/bash-completion/completions/offered
  zsh          offered completions zsh > ~/.zfunc/_offered
               (~/.zshrc before compinit: fpath+=~/.zfunc)
  fish         offered completions fish > ~/.config/fish/completions/offered.fish
  PowerShell   offered completions powershell >> $PROFILE
  elvish       offered completions elvish >> ~/.config/elvish/rc.elv

Only in this shell:
  bash, zsh    source <(offered completions bash)
  fish         offered completions fish | source

Exit codes: 0 done; 2 wrong input.";

/// Print the completion script of a shell: commands, options and their values
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell that reads the script
    shell: Shell,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "offered", &mut script);
    output::to_stdout(|stdout| stdout.write_all(&script)).map_err(Failure::stopped)?;
    Ok(Exit::Done)
}
