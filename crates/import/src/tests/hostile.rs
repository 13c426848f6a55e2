//! Tests of hostile files.

use std::thread;

use super::*;

fn import_error_as(text: &str, format: Format) -> String {
    let error = read(text, "f", Some(format)).unwrap_err().to_string();
    assert!(!error.contains('\n') && error.len() < 500, "{error}");
    error
}

#[test]
fn xml_entities_are_not_expanded() {
    let mut bomb = String::from("<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY lol0 \"lol\">");
    for n in 1..10 {
        let _ = write!(bomb, "<!ENTITY lol{n} \"{}\">", format!("&lol{};", n - 1).repeat(10));
    }
    bomb.push_str("]><jmeterTestPlan>&lol9;</jmeterTestPlan>");
    assert!(import_error_as(&bomb, Format::Jmx).contains("document type"));
    let outside = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><jmeterTestPlan>&x;</jmeterTestPlan>";
    assert!(import_error_as(outside, Format::Jmx).contains("document type"));
}

#[test]
fn nested_yaml_aliases_are_counted() {
    let mut bomb = String::from("openapi: 3.0.0\na0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for n in 1..12 {
        let _ = writeln!(bomb, "a{n}: &a{n} [{}]", vec![format!("*a{}", n - 1); 9].join(","));
    }
    let error = import_error_as(&bomb, Format::Openapi);
    assert!(error.contains("YAML"), "{error}");
}

#[test]
fn depth_is_limited_in_every_format() {
    // Uses the stack size of a main thread; a test thread has a quarter of it, which is too little for debug builds.
    let read = thread::Builder::new().stack_size(8 << 20).spawn(check_depth_of_every_format).unwrap();
    read.join().unwrap();
}

fn check_depth_of_every_format() {
    let deep = 100_000;
    assert!(import_error_as(&"[".repeat(deep), Format::Har).contains("JSON"));
    assert!(import_error_as(&"{\"a\":".repeat(deep), Format::Postman).contains("JSON"));
    assert!(import_error_as(&format!("openapi: {}", "[".repeat(deep)), Format::Openapi).contains("YAML"));
    let if_in_if = format!("{}select 1;", "\\if 1\n".repeat(deep));
    assert!(import_error_as(&if_in_if, Format::Pgbench).contains("nested deeper"));
    assert!(import_error_as(&format!("\\set x {}1", "- ".repeat(500)), Format::Pgbench).contains("nested deeper"));
    assert!(
        import_error_as(&format!("\\set x {}1", "1 + ".repeat(deep)), Format::Pgbench)
            .contains("tokens in one expression")
    );
    let indented: String = (0..3000).fold("openapi: 3.0.0\n".to_owned(), |mut text, n| {
        let _ = writeln!(text, "{}a:", " ".repeat(n));
        text
    });
    assert!(import_error_as(&indented, Format::Openapi).contains("YAML"));
    assert!(import_error_as(&"<a>".repeat(deep), Format::Jmx).contains("nested deeper"));
    let folders = (0..50).fold("{\"name\": \"x\", \"request\": \"http://a/\"}".to_owned(), |inner, _| {
        format!("{{\"name\": \"f\", \"item\": [{inner}]}}")
    });
    let collection = format!("{{\"info\": {{\"schema\": \"/collection/v2\"}}, \"item\": [{folders}]}}");
    assert!(import_error_as(&collection, Format::Postman).contains("contains no HTTP request"));
}

#[test]
fn files_above_the_limits_are_rejected() {
    assert!(
        import_error_as(&format!("{{\"log\": {{\"entries\": [{}]}}}}", vec!["0"; 2_000_001].join(",")), Format::Har)
            .contains("more than 2000000 values")
    );
    assert!(
        import_error_as(&format!("{{\"log\": {{\"entries\": [{}]}}}}", vec!["{}"; 20_001].join(",")), Format::Har)
            .contains("at most 20000")
    );
    let keys = (0..20_001).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",");
    assert!(import_error_as(&format!("{{{keys}}}"), Format::Openapi).contains("more than 20000 keys"));
    assert!(import_error_as(&"curl http://a/\n".repeat(2_001), Format::Curl).contains("at most 2000"));
    assert!(import_error_as(&"a ".repeat(200_001), Format::Curl).contains("200000 words"));
    let doubled = format!("\\set x random(1, 9)\n{}select :x;", "\\set x :x + :x\n".repeat(60));
    assert!(import_error_as(&doubled, Format::Pgbench).contains("too large"));
    let ways = format!("{}select 1;", "\\set r random(0, 1)\n\\if :r\nselect 2;\n\\endif\n".repeat(40));
    assert!(import_error_as(&ways, Format::Pgbench).contains("more than 256 paths"));
    assert!(
        import_error_as("\\set r random(1, 9000000)\n\\if :r > 2\nselect 1;\n\\endif", Format::Pgbench)
            .contains("the maximum is 1000000")
    );
    let many: String = (0..2_001).map(|n| format!("\"/{n}\": {{\"get\": {{}}}}")).collect::<Vec<_>>().join(",");
    assert!(
        import_error_as(&format!("{{\"openapi\": \"3.0.0\", \"paths\": {{{many}}}}}"), Format::Openapi)
            .contains("2000 operations")
    );
    let long = format!("openapi: 3.0.0\nx: {}", "a".repeat(17 << 20));
    assert!(import_error_as(&long, Format::Openapi).contains("16 MiB"));
    for format in [Format::Jmx, Format::Har, Format::Openapi, Format::Postman, Format::Curl, Format::Pgbench] {
        assert!(import_error_as(&"{".repeat(MAX_PLAN_BYTES + 1), format).contains("larger than 64 MiB"));
    }
}

#[test]
fn invalid_and_huge_numbers_are_rejected_or_limited() {
    assert!(import_error_as("{\"log\": {\"entries\": [1e999]}}", Format::Har).contains("number out of range"));
    let entry = |start: &str, time: &str| {
        format!(
            "{{\"log\": {{\"entries\": [{{\"startedDateTime\": \"{start}\", \"time\": {time}, \"request\": {{\"method\": \"GET\", \"url\": \"http://a/\"}}, \"response\": {{\"status\": 200}}}}]}}}}"
        )
    };
    assert!(import_error_as(&entry("yesterday", "1"), Format::Har).contains("is not a time"));
    assert!(read(&entry("2026-01-01T00:00:00Z", "1e300"), "f", None).is_ok());
    let huge = "99999999999999999999999999999999";
    let group = threads(1, 0, &get("a", &wait(1)))
        .replace(">1500<", &format!(">{huge}<"))
        .replace("num_threads\">1<", &format!("num_threads\">{huge}<"));
    let (_, workload) = one(&group);
    let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload:?}") };
    assert!(closed.users() <= 100_000_000 && workload.duration() <= Nanos::from_secs(1_000_000));
    // The length of generated strings is limited.
    let api = "{\"openapi\": \"3.0.0\", \"paths\": {\"/\": {\"post\": {\"requestBody\": {\"content\": {\"application/json\": {\"schema\": {\"type\": \"string\", \"minLength\": 1e18}}}}}}}}";
    assert!(read(api, "f", None).unwrap()[0].text("f").unwrap().len() < 100_000);
}

#[test]
fn circular_references_and_nested_variables_end() {
    let api = "{\"openapi\": \"3.0.0\", \"paths\": {\"/\": {\"$ref\": \"#/paths/~1\"}, \"/b\": {\"post\": {\"requestBody\": {\"$ref\": \"#/components/a\"}, \"parameters\": [{\"$ref\": \"other.yaml\"}]}}}, \"components\": {\"a\": {\"$ref\": \"#/components/b\"}, \"b\": {\"$ref\": \"#/components/a\"}}}";
    let plans = read(api, "f", None).unwrap();
    assert_eq!(plans[0].requests.len(), 1);
    assert!(plans[0].notes.iter().any(|note| note.message.contains("another file")), "{:?}", plans[0].notes);
    // Each schema contains ten of the next.
    let schemas: Vec<String> = (0..20)
        .map(|n| {
            let next: Vec<String> =
                (0..10).map(|m| format!("\"p{m}\": {{\"$ref\": \"#/components/schemas/s{}\"}}", n + 1)).collect();
            format!("\"s{n}\": {{\"type\": \"object\", \"properties\": {{{}}}}}", next.join(","))
        })
        .collect();
    let api = format!(
        "{{\"openapi\": \"3.0.0\", \"paths\": {{\"/\": {{\"post\": {{\"requestBody\": {{\"content\": {{\"application/json\": {{\"schema\": {{\"$ref\": \"#/components/schemas/s0\"}}}}}}}}}}}}}}, \"components\": {{\"schemas\": {{{}}}}}}}",
        schemas.join(",")
    );
    assert!(read(&api, "f", None).unwrap()[0].text("f").unwrap().len() < 16 << 20);
    let values: Vec<String> = (0..40)
        .map(|n| format!("{{\"key\": \"v{n}\", \"value\": \"{}\"}}", format!("{{{{v{}}}}}", n + 1).repeat(10)))
        .collect();
    let collection = format!(
        "{{\"info\": {{\"schema\": \"/collection/v2\"}}, \"variable\": [{}], \"item\": [{{\"name\": \"a\", \"request\": \"http://a/{{{{v0}}}}\"}}]}}",
        values.join(",")
    );
    assert!(read(&collection, "f", None).unwrap()[0].text("f").unwrap().len() < 256 << 20);
}

#[test]
fn comparisons_of_names_are_limited() {
    let list = |each: fn(usize) -> String| (0..19_000).map(each).collect::<Vec<_>>().join(",");
    let schema = format!(
        "{{\"required\": [{}], \"properties\": {{{}}}, \"example\": {{}}}}",
        list(|n| format!("\"p{n}\"")),
        list(|n| format!("\"p{n}\": {{\"readOnly\": true}}"))
    );
    let body = "{\"requestBody\": {\"content\": {\"application/json\": {\"schema\": {\"$ref\": \"#/components/schemas/S\"}}}}}";
    let paths: Vec<String> = (0..100).map(|n| format!("\"/{n}\": {{\"post\": {body}}}")).collect();
    let api = format!(
        "{{\"openapi\": \"3.0.0\", \"paths\": {{{}}}, \"components\": {{\"schemas\": {{\"S\": {schema}}}}}}}",
        paths.join(",")
    );
    assert_eq!(read(&api, "f", None).unwrap()[0].requests.len(), 100);
}

/// Mutated files give a plan whose workload can be parsed, or a one-line error.
#[test]
fn mutated_files_give_a_plan_or_a_one_line_error() {
    check_mutants(&[
        include_str!("seeds/shop.har"),
        include_str!("seeds/pets.yaml"),
        include_str!("seeds/shop.postman.json"),
        include_str!("seeds/shop.sh"),
        include_str!("seeds/shop.jmx"),
        include_str!("seeds/bank.sql"),
        "PGUSER=me pgbench -h /run/pg -p 7 -c 4 -j 2 -R 90.5 -t 20 -M extended -D x=1.5 -b simple@2 -S -L 100 bank\n",
    ]);
}

/// Mutates the seeds and checks the result of each import.
fn check_mutants(seeds: &[&str]) {
    let values = [("PGHOST", "h"), ("PGUSER", "me")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let given = ImportOptions { variables: Some(&values), ..ImportOptions::default() };
    // A small deterministic generator (xorshift).
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % most.max(1) as u64) as usize
    };
    for round in 0..3_000 {
        let mut bytes = seeds[round % seeds.len()].as_bytes().to_vec();
        for _ in 0..=below(4) {
            let (at, to) = (below(bytes.len()), below(bytes.len()));
            match below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = b"\"'{}[]<>&$\\:,-0 \n"[below(17)],
                2 => drop(bytes.drain(at.min(to)..at.max(to).min(at.min(to) + 40))),
                _ => {
                    let piece = bytes[at.min(to)..at.max(to).min(at.min(to) + 40)].to_vec();
                    let here = below(bytes.len());
                    bytes.splice(here..here, piece);
                }
            }
            if bytes.is_empty() {
                bytes.push(b'{');
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match super::super::read(&text, "f", &given) {
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(plans) => {
                for plan in plans {
                    let written = plan.text("f").unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
                    let parsed = Workload::parse(&written, "w", &|name| Err(name.to_owned()));
                    assert!(parsed.is_ok(), "{}\n{written}\n{text}", parsed.unwrap_err());
                }
            }
        }
    }
}
