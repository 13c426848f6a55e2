//! Lines per second of the whole analysis on one core: `cargo run --release -p offered-logs --example speed -- FILE`.
fn main() {
    let file = std::env::args().nth(1).expect("a log");
    let options = offered_logs::Options::default();
    let inputs = offered_logs::inputs(&[file], &options.choice).unwrap();
    let tally = offered_logs::read(&inputs, &options, 1800, &offered_logs::Progress::default()).unwrap();
    let lines = tally.lines;
    println!("{lines} lines, {} sessions", tally.sessions().0.all().len());
}
