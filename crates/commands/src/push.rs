//! `offered push`: uploads a run directory to an object store.

use std::path::PathBuf;

use offered_experiment::{PushResult, is_object_store_url, push_run};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::object_store::store_fails;
use crate::output::{out, status};

const EXAMPLES: &str = "\
Examples:
  The rest of a worker's recording, after exit code 4 (the command is in the
  error message of the worker)
    offered push /tmp/offered-a1b2c3/run7/worker-2-of-8 \\
      s3://bucket/run7/worker-2-of-8
  A whole run, to read it from anywhere
    offered push runs/1 s3://bucket/runs/1
    offered verify s3://bucket/runs/1

Files that are already in the store are compared and not uploaded again, so an
interrupted push continues where it stopped. A file that differs belongs to
another run: then nothing is uploaded. Credentials and settings come from the
environment, as for --rendezvous.

Exit codes: 0 the store has the whole run; 1 could not continue, run the same
command again; 2 wrong input.";

/// Upload a run directory to a bucket, or the part of it that is missing in the bucket
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directory, of one worker or of several
    dir: PathBuf,
    /// URL of the run, or of the worker (s3://, gs://, az://)
    url: PathBuf,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (dir, url) = (args.dir.display(), args.url.display());
    if !args.dir.is_dir() {
        return Err(Failure::input(format!("{dir} is not a directory; give the directory of a run")));
    }
    if !is_object_store_url(&args.url) {
        return Err(Failure::input(format!(
            "{url} is not the URL of an object store; write for example s3://bucket/run7 (to copy to a directory: cp -r {dir} {url})"
        )));
    }
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let mut on_start = |files: u64, bytes: u64| {
        if !args.quiet && files > 0 {
            let s = if files == 1 { "" } else { "s" };
            status!("uploading {files} file{s} ({:.1} MB) of {dir} to {url}", megabytes(bytes));
        }
    };
    let PushResult { present, uploaded, bytes } = push_run(&args.dir, &args.url, &mut on_start, store_fails)?;
    if !args.quiet {
        out!("{url}: {uploaded} files uploaded ({:.1} MB), {present} already present", megabytes(bytes));
        status!("verify it: offered verify {url}");
    }
    Ok(Exit::Done)
}
