//! Test plans of other tools. Each input is imported or refused in one line, and every written workload must be
//! readable.

use offered_import::Format::{self, Curl, Har, Jmx, Openapi, Pgbench, Postman};
use offered_import::ImportOptions;
use offered_workload::Workload;

pub(crate) fn plans(bytes: &[u8]) {
    import_as(bytes, &[Jmx]);
}

pub(crate) fn recordings(bytes: &[u8]) {
    import_as(bytes, &[Har]);
}

pub(crate) fn api_descriptions(bytes: &[u8]) {
    import_as(bytes, &[Openapi, Postman]);
}

pub(crate) fn commands(bytes: &[u8]) {
    import_as(bytes, &[Curl, Pgbench]);
}

fn import_as(bytes: &[u8], formats: &[Format]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let none = |name: &str| Err(name.to_owned());
    // A pgbench script does not contain the address of the database.
    let values = [("PGHOST", "h"), ("PGUSER", "u")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    for format in formats {
        let options = ImportOptions { format: Some(*format), variables: Some(&values), ..ImportOptions::default() };
        match offered_import::read(text, "fuzz", &options) {
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(plans) => {
                for plan in plans {
                    let written = plan.text("fuzz").expect("an imported plan can be written");
                    let read = Workload::parse(&written, "fuzz", &none);
                    assert!(read.is_ok(), "{}\n{written}", read.unwrap_err());
                }
            }
        }
    }
}
