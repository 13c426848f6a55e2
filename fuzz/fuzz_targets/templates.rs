#![no_main]

use offered_model::template::{Template, in_url};

// Any text is a template, which printed and read again is the same; a workload made of it is read or refused; and whatever value
// stands in a URL leaves it one.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let template = Template::new(text);
    assert_eq!(Template::new(&template.to_string()), template);
    assert_eq!(Template::literal(text).text(), Some(text));
    assert!(in_url("/?q=", text).bytes().all(|b| b > b' ' && b < 0x7f));
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace(|c: char| c.is_control(), " ");
    let files = |name: &str| if name.len() % 2 == 0 { Ok(text.into()) } else { Err(name.to_owned()) };
    let workload = format!(
        "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[variables]\na.file = \"u.csv\"\nb.file = \"uu.csv\"\n\
         c.file = \"u.jsonl\"\nd = \"{quoted}\"\n[[request]]\npost = \"/{quoted}\"\nbody = \"{quoted}\"\n\
         extract = [{{ name = \"e\", regex = \"{quoted}\" }}]\ncheck = [{{ body = true, contains = \"{quoted}\" }}]"
    );
    let _ = offered_model::Workload::parse(&workload, "fuzz", &files);
});
