#![no_main]

// Any text is a plan or one line that says why not; and what is written of a plan can be read.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let files = |name: &str| Err(name.to_owned());
    for plan in offered_import::read(text, "fuzz", Some(offered_import::Format::Jmx)).into_iter().flatten() {
        let _ = offered_model::Workload::parse(&plan.workload("fuzz"), "fuzz", &files);
    }
});
