//! `offered sweep`: a workload at every point of a grid, and the curve through them.

mod cell;
mod curve;
mod figures;
mod json;
mod order;
mod table;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use offered_model::{Nanos, Objective, Seed};
use offered_simulate::Stop;

use crate::csv;
use crate::exit::{Exit, Failure};
use crate::input::Input;
use crate::run::Plan;
use crate::say::say;
use crate::simulate::record;
use crate::vary::{self, Vary};
use cell::Cell;
use curve::Kept;

const AFTER: &str = "\
Fields: users, think, rate, session_length, discipline, scv, seed, or any other by its path in the file (server.servers,
request.0.weight). Values: a list (25,50,100) or a range with its step (25..150:25).

Cells are visited with a stride of about 0.618 of their number, so that low and high values alternate and whatever changes
with time does not look like an effect of load; --shuffle takes a random order instead. A sweep that was killed goes on
with the same command: finished cells are kept.

Examples:
  offered sweep w.toml --vary users=25,50,75,100,150 --vary think=5ms,25ms,50ms --out sweeps/1
  offered sweep w.toml --vary users=25..150:25 --slo 'p90 < 31ms' --out sweeps/2
  offered sweep w.toml --vary rate=10..90:10 --vary discipline=fcfs,ps --simulate --out sweeps/3
  offered sweep w.toml --vary rate=50,100 --vary seed=1,2,3 --out sweeps/4      each three times

Exit codes: 0 done; 1 could not go on; 2 wrong input; 3 done, but a cell must not be believed.";

/// Run (or simulate) a workload at every point of a grid, and lay the curve through them
#[derive(clap::Args)]
#[command(after_help = AFTER)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are independent")]
pub(crate) struct Args {
    /// Workload file
    workload: PathBuf,
    /// A field and its values; several multiply
    #[arg(long, value_name = "FIELD=VALUES", required = true)]
    vary: Vec<Vary>,
    /// Directory of the sweep: a run directory per cell, sweep.json, cells.csv, cells.parquet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Simulate every cell on the workload's [server] instead of running it
    #[arg(long)]
    simulate: bool,
    /// Say up to which value of the first field this is kept, for example 'p90 < 31ms, errors < 0.1%'
    #[arg(long, value_name = "OBJECTIVE")]
    slo: Option<Objective>,
    /// Visit the cells in a random order, drawn from the workload's seed
    #[arg(long)]
    shuffle: bool,
    /// Print one JSON document (schema offered.sweep/1) instead of the table
    #[arg(long)]
    json: bool,
    /// Show nothing on stderr while the sweep goes on
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let input = Input::read(&args.workload)?;
    if args.vary.iter().any(|vary| vary.field == "load") {
        return Err(Failure::input("`load` belongs to simulate --sweep; vary rate, users or think here"));
    }
    let mut cells: Vec<Cell> =
        vary::points(&input, &args.vary)?.into_iter().map(|point| Cell::new(point, &args.out)).collect();
    apart(&cells)?;
    let steps = args.slo.as_ref().map(|_| curve::steps(&args.vary[0])).transpose()?;
    let seed = input.parse(&input.text)?.seed();
    begin(&args.out, &input)?;
    visit(args, &mut cells, seed)?;
    let objective = args.slo.as_ref();
    let cells = cells.into_iter().map(|cell| cell.measured(objective)).collect::<Result<Vec<_>, _>>()?;
    let kept = match (objective, steps) {
        (Some(objective), Some(steps)) => curve::kept(objective, &args.vary[0].field, &steps, &cells),
        _ => Vec::new(),
    };
    write(args, &cells, &kept)?;
    let document = json::document(args, &cells, &kept);
    if args.json {
        say!("{}", serde_json::to_string_pretty(&document).map_err(Failure::stopped)?);
    } else {
        say!(no newline: "{}", table::page(&cells, objective, &kept));
        say!("\nrecorded in {}", args.out.display());
    }
    let believable = cells.iter().all(|cell| cell.figures.believable());
    Ok(if believable { Exit::Done } else { Exit::Doubtful })
}

/// Makes the directory, or finds that it holds this very sweep.
fn begin(out: &Path, input: &Input) -> Result<(), Failure> {
    let own = out.join("workload.toml");
    if !out.exists() {
        fs::create_dir_all(out.join("cells")).map_err(cannot("create", out))?;
        return fs::write(&own, &input.text).map_err(cannot("write", &own));
    }
    match fs::read_to_string(&own) {
        Ok(text) if text == input.text => Ok(()),
        // Whoever mends a workload that could not even begin means this sweep.
        Ok(_) if !has_finished_cells(out) => {
            let cells = out.join("cells");
            if cells.exists() {
                fs::remove_dir_all(&cells).map_err(cannot("remove", &cells))?;
            }
            fs::write(&own, &input.text).map_err(cannot("write", &own))
        }
        Ok(_) => Err(Failure::input(format!(
            "{} was begun with another workload: {} differs from {}; go on with that one, or choose another --out",
            out.display(),
            own.display(),
            input.path.display()
        ))),
        Err(_) => Err(Failure::input(format!(
            "{} exists and is no sweep (no workload.toml); choose another --out",
            out.display()
        ))),
    }
}

/// Whether a cell of the sweep in `out` has ended.
fn has_finished_cells(out: &Path) -> bool {
    let cells = fs::read_dir(out.join("cells")).into_iter().flatten();
    cells.flatten().any(|cell| cell.path().join("run.json").exists())
}

/// Values that differ in what no file name may hold would share a directory.
fn apart(cells: &[Cell]) -> Result<(), Failure> {
    let mut seen = HashMap::new();
    for cell in cells {
        if let Some(other) = seen.insert(&cell.path, cell) {
            let (one, two) = (other.point.name(), cell.point.name());
            return Err(Failure::input(format!(
                "{one} and {two} would both be {}; name one of them otherwise",
                cell.path.display()
            )));
        }
    }
    Ok(())
}

/// Runs what is not finished yet.
fn visit(args: &Args, cells: &mut [Cell], seed: Seed) -> Result<(), Failure> {
    let order = if args.shuffle { order::shuffled(cells.len(), seed) } else { order::strided(cells.len()) };
    let mut todo = Vec::new();
    for (position, place) in order.into_iter().enumerate() {
        cells[place].position = position;
        if !cells[place].is_finished(args.simulate)? {
            todo.push(place);
        }
    }
    let tell = |line: String| {
        if !args.quiet {
            eprintln!("{line}");
        }
    };
    let left = |todo: &[usize]| {
        todo.iter().map(|place| cells[*place].point.workload.duration()).fold(Nanos::ZERO, |a, b| a + b)
    };
    let time = if args.simulate { String::new() } else { format!(", at least {}", left(&todo)) };
    let s = if cells.len() == 1 { "" } else { "s" };
    tell(format!("{} cell{s}, {} of them finished; {} to do{time}", cells.len(), cells.len() - todo.len(), todo.len()));
    if cells.iter().any(|cell| cell.point.workload.skip_first() == Nanos::ZERO) {
        tell("warning: without skip_first the beginning of every cell counts; give it a warm-up, for example skip_first = \"5s\"".to_owned());
    }
    for (done, place) in todo.iter().enumerate() {
        let (cell, rest) = (&cells[*place], &todo[done..]);
        let time = if args.simulate { String::new() } else { format!(", {} left", left(rest)) };
        tell(format!("cell {} of {}: {}{time}", done + 1, todo.len(), cell.point.name()));
        make(cell, args, todo.len() - done)?;
    }
    Ok(())
}

/// One cell, into its directory.
fn make(cell: &Cell, args: &Args, left: usize) -> Result<(), Failure> {
    let point = &cell.point;
    let of_cell = |failure: Failure| match failure {
        Failure::Input(why) => Failure::Input(format!("{}: {why}", point.name())),
        Failure::Stopped(why) => Failure::Stopped(format!("{}: {why}", point.name())),
    };
    if args.simulate {
        let made = record::record(&point.text, &point.workload, None, Stop::Duration, &cell.path);
        return made.map(drop).map_err(of_cell);
    }
    if Plan::of(point, Some(&cell.path), args.quiet).make().map_err(of_cell)?.done.stopped {
        // Half a cell is none.
        fs::remove_dir_all(&cell.path).map_err(cannot("remove", &cell.path))?;
        return Err(Failure::stopped(format!("stopped with {left} cells to do; the same command goes on with them")));
    }
    Ok(())
}

/// The tidy table and the document, anew.
fn write(args: &Args, cells: &[cell::Measured], kept: &[Kept]) -> Result<(), Failure> {
    let place = |name: &str| -> Result<PathBuf, Failure> {
        let path = args.out.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(cannot("replace", &path))?;
        }
        Ok(path)
    };
    let columns = table::columns(cells);
    csv::write(&place("cells.csv")?, &columns)?;
    offered_store::write_table(&place("cells.parquet")?, &columns).map_err(Failure::stopped)?;
    let path = place("sweep.json")?;
    let text = serde_json::to_string_pretty(&json::document(args, cells, kept)).map_err(Failure::stopped)?;
    fs::write(&path, text + "\n").map_err(cannot("write", &path))
}

fn cannot(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |why| Failure::stopped(format!("cannot {what} {path}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_of_which_nothing_has_ended_may_begin_with_a_mended_workload() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("sweep");
        let input = |text: &str| Input { path: "w.toml".into(), text: text.to_owned() };
        begin(&out, &input("first")).unwrap();
        let cell = out.join("cells/rate=1");
        fs::create_dir(&cell).unwrap();
        begin(&out, &input("mended")).unwrap();
        assert!(!cell.exists() && fs::read_to_string(out.join("workload.toml")).unwrap() == "mended");
        fs::create_dir_all(&cell).unwrap();
        fs::write(cell.join("run.json"), "{}").unwrap();
        begin(&out, &input("mended")).unwrap();
        let Err(Failure::Input(why)) = begin(&out, &input("third")) else { panic!("another sweep was taken over") };
        assert!(why.contains("was begun with another workload") && cell.exists(), "{why}");
    }

    #[test]
    fn cells_do_not_share_a_directory() {
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\n";
        let input = Input { path: "w.toml".into(), text: text.to_owned() };
        let cells = |values: &str| -> Vec<Cell> {
            let points = vary::points(&input, &[values.parse().unwrap()]).map_err(|_| "a point").unwrap();
            points.into_iter().map(|point| Cell::new(point, Path::new("out"))).collect()
        };
        assert!(apart(&cells("request.0.get=/a,/b")).is_ok());
        let Err(Failure::Input(why)) = apart(&cells("request.0.get=/a/b,/a_b")) else { panic!("they do") };
        assert!(why.contains("would both be out/cells/request.0.get=_a_b"), "{why}");
    }
}
