use super::*;

#[test]
fn events_without_an_end_are_not_exported_as_durations() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in");
    fs::write(&input, "1\n2\n4\n").unwrap();
    for format in [Format::Jtl, Format::Vegeta, Format::Hdr] {
        let args = Args { run: input.clone(), format, output: None };
        let Err(Failure::Input(why)) = super::run(&args) else { panic!("absent durations became zero") };
        assert!(why.contains("3 requests in"), "{why}");
    }
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    fs::write(&input, "1\n2\n4\n").unwrap();
    let args = Args { run: input, format: Format::Gaps, output: Some(output.clone()) };
    assert_eq!(super::run(&args).unwrap(), Exit::Done);
    assert_eq!(fs::read_to_string(&output).unwrap(), "1000.000000\n2000.000000\n");
    let Err(Failure::Input(why)) = super::run(&args) else { panic!("it was overwritten") };
    assert!(why.contains("already exists"), "{why}");
}
