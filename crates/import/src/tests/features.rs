//! Tests of data files, logins, extractors, assertions, bodies and files.

use offered_workload::Threshold;
use offered_workload::script::{IfMissing, Per, Which};

use super::*;

fn text(name: &str, value: &str) -> String {
    let value = value.replace('&', "&amp;").replace('<', "&lt;");
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

fn element(class: &str, name: &str, properties: &[(&str, &str)]) -> String {
    let properties: String = properties.iter().map(|(name, value)| text(name, value)).collect();
    format!("<{class} testclass=\"{class}\" testname=\"{name}\">{properties}</{class}><hashTree/>")
}

fn post(name: &str, properties: &str, under: &str) -> String {
    format!(
        "<HTTPSamplerProxy testname=\"{name}\">{}{}{properties}</HTTPSamplerProxy><hashTree>{under}</hashTree>",
        text("HTTPSampler.path", &format!("/{name}")),
        text("HTTPSampler.method", "POST")
    )
}

fn arguments(pairs: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| {
        format!(
            "<elementProp name=\"{name}\" elementType=\"HTTPArgument\"><boolProp name=\"HTTPArgument.always_encode\">true</boolProp>{}{}{}</elementProp>",
            text("Argument.name", name),
            text("Argument.value", value),
            text("Argument.metadata", "=")
        )
    };
    format!(
        "<elementProp name=\"HTTPsampler.Arguments\"><collectionProp name=\"Arguments.arguments\">{}</collectionProp></elementProp>",
        pairs.iter().map(pair).collect::<String>()
    )
}

fn request<'p>(plan: &'p Plan, name: &str) -> &'p Request {
    plan.requests.iter().find(|request| request.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn logins_are_extracted_and_sent() {
    let content = [
        element("CookieManager", "cookies", &[]),
        element("CSVDataSet", "people", &[("filename", "people.csv"), ("variableNames", "user,password"), ("recycle", "false")]),
        post("login", &arguments(&[("u", "${user}"), ("p", "${password}")]), &(
            element("JSONPostProcessor", "t", &[("JSONPostProcessor.referenceNames", "token;id"), ("JSONPostProcessor.jsonPathExprs", "$.token;$..id"), ("JSONPostProcessor.match_numbers", "1;2"), ("JSONPostProcessor.defaultValues", ";none")])
            + &element("ResponseAssertion", "signed in", &[("Assertion.test_field", "Assertion.response_code"), ("Assertion.test_type", "8")]).replace("</ResponseAssertion>", "<collectionProp name=\"Asserion.test_strings\"><stringProp name=\"49586\">200</stringProp></collectionProp></ResponseAssertion>")
        )),
        get("account?of=${id}", &element("HeaderManager", "h", &[]).replace("</HeaderManager>", "<collectionProp name=\"HeaderManager.headers\"><elementProp name=\"\"><stringProp name=\"Header.name\">Authorization</stringProp><stringProp name=\"Header.value\">Bearer ${token}</stringProp></elementProp></collectionProp></HeaderManager>")),
    ];
    let (plan, workload) = one(&threads(10, 0, &content.concat()));
    assert!(plan.target.cookies());
    assert!(
        matches!(&plan.variables[..], [Variable { name, value: ValueSource::File { at_end: AtEnd::Stop, .. }, per: Per::Visit }] if name == "people"),
        "{:?}",
        plan.variables
    );
    let login = request(&plan, "login");
    assert_eq!(login.body, form(&[("u", Text::variable("people.user")), ("p", Text::variable("people.password"))]));
    assert_eq!(
        login.extract,
        [
            Extraction {
                name: "token".to_owned(),
                find: Find::Json("$.token".to_owned()),
                which: Which::Nth(1),
                if_missing: IfMissing::Default(String::new())
            },
            Extraction {
                name: "id".to_owned(),
                find: Find::Json("$..id".to_owned()),
                which: Which::Nth(2),
                if_missing: IfMissing::Default("none".to_owned())
            },
        ]
    );
    assert_eq!(
        login.check,
        [Check { name: "signed in".to_owned(), test: Test::Status(vec![(200, 200)]), negated: false }]
    );
    let account = request(&plan, "account?of=${id}");
    assert_eq!(account.path.to_source(), "/account?of={{id}}");
    assert_eq!(account.headers[0].1.to_source(), "Bearer {{token}}");
    assert_eq!(workload.requests()[0].extract().len(), 2);
    let notes: Vec<&str> = plan.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(notes, ["continues with <EOF> after the last row; here the run stops"]);
}

#[test]
fn variables_used_before_extraction_have_initial_values() {
    let regex = element(
        "RegexExtractor",
        "r",
        &[("RegexExtractor.refname", "next"), ("RegexExtractor.regex", "n=(\\d+)"), ("RegexExtractor.template", "$1$")],
    );
    let either =
        format!("<RandomController/><hashTree>{}{}</hashTree>", get("first", &regex), get("then?n=${next}", ""));
    let (plan, _) = one(&threads(1, 0, &either));
    assert_eq!(plan.variables, [Variable::constant("next", "${next}")]);
    assert!(
        plan.notes.iter().any(|note| note.message.contains("is used before a response has set it")),
        "{:?}",
        plan.notes
    );
    // In sequence the variable keeps its initial value if the first response has none, without a note. A user-defined
    // value is the initial value.
    let (plan, _) = one(&threads(1, 0, &[get("first", &regex), get("then?n=${next}", "")].concat()));
    assert_eq!((&plan.variables[..], &plan.notes[..]), (&[Variable::constant("next", "${next}")][..], &[][..]));
    assert_eq!(
        (plan.requests[0].extract[0].which.clone(), &plan.requests[0].extract[0].if_missing),
        (Which::Random, &IfMissing::KeepPrevious)
    );
    let own = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"next\"><stringProp name=\"Argument.value\">42</stringProp></elementProp></collectionProp></Arguments><hashTree/>";
    let (plan, _) = one(&threads(1, 0, &[own.to_owned(), either].concat()));
    assert_eq!(plan.variables, [Variable::constant("next", "42")]);
}

#[test]
fn extractors_are_translated() {
    let under = [
        element(
            "RegexExtractor",
            "h",
            &[
                ("RegexExtractor.useHeaders", "true"),
                ("RegexExtractor.refname", "where"),
                ("RegexExtractor.regex", "Location: (.+)"),
                ("RegexExtractor.template", "$1$"),
            ],
        ),
        element(
            "RegexExtractor",
            "g",
            &[
                ("RegexExtractor.refname", "second"),
                ("RegexExtractor.regex", "(a)(b)"),
                ("RegexExtractor.template", "$2$"),
                ("RegexExtractor.match_number", "3"),
            ],
        ),
        element(
            "BoundaryExtractor",
            "b",
            &[
                ("BoundaryExtractor.refname", "csrf"),
                ("BoundaryExtractor.lboundary", "value=\"("),
                ("BoundaryExtractor.rboundary", "\""),
            ],
        ),
        element(
            "HtmlExtractor",
            "c",
            &[("HtmlExtractor.refname", "link"), ("HtmlExtractor.expr", "a.next"), ("HtmlExtractor.attribute", "href")],
        ),
        // Of a random match with two groups the first is taken. Not translated: look-behind, all matches, XPath.
        element(
            "RegexExtractor",
            "two",
            &[
                ("RegexExtractor.refname", "x"),
                ("RegexExtractor.regex", "(a)(b)"),
                ("RegexExtractor.template", "$1$-$2$"),
            ],
        ),
        element(
            "RegexExtractor",
            "behind",
            &[
                ("RegexExtractor.refname", "x"),
                ("RegexExtractor.regex", "(?<=a)(b)"),
                ("RegexExtractor.template", "$1$"),
            ],
        ),
        element(
            "RegexExtractor",
            "all",
            &[("RegexExtractor.refname", "x"), ("RegexExtractor.regex", "(b)"), ("RegexExtractor.match_number", "-1")],
        ),
        element("XPathExtractor2", "path", &[("XPathExtractor2.refname", "x")]),
    ];
    let (plan, _) = one(&threads(1, 0, &get("a", &under.concat())));
    let found: Vec<&Find> = plan.requests[0].extract.iter().map(|extract| &extract.find).collect();
    assert_eq!(
        found,
        [
            &Find::Header("Location".to_owned()),
            &Find::Regex { pattern: "(a)(b)".to_owned(), group: 2 },
            &Find::Regex { pattern: "(?s)value=\"\\((.*?)\"".to_owned(), group: 1 },
            &Find::Css { selector: "a.next".to_owned(), attribute: Some("href".to_owned()) },
            &Find::Regex { pattern: "(a)(b)".to_owned(), group: 1 },
            &Find::Regex { pattern: "(a)(b)".to_owned(), group: 2 },
        ]
    );
    let noted: Vec<&str> = plan.notes.iter().map(|note| note.element.as_str()).collect();
    for left in ["RegexExtractor `two`", "RegexExtractor `behind`", "RegexExtractor `all`", "XPathExtractor2 `path`"] {
        assert!(noted.contains(&left), "{left}: {noted:?}");
    }
    assert_eq!(noted.len(), 4, "{noted:?}");
}

#[test]
fn assertions_are_translated() {
    let response = |name: &str, field: &str, kind: &str, strings: &[&str]| {
        let strings: String = strings.iter().map(|said| text("1", said)).collect();
        element("ResponseAssertion", name, &[("Assertion.test_field", field), ("Assertion.test_type", kind)]).replace(
            "</ResponseAssertion>",
            &format!("<collectionProp name=\"Asserion.test_strings\">{strings}</collectionProp></ResponseAssertion>"),
        )
    };
    let (code, body, headers) = ("Assertion.response_code", "Assertion.response_data", "Assertion.response_headers");
    let under = [
        response("Response Assertion", code, "40", &["200", "302"]),
        response("class", code, "2", &["2\\d\\d"]),
        response("says", body, "16", &["Welcome {name}", "a.b"]),
        response("finds", body, "2", &["ord-\\d+"]),
        response("is", body, "8", &["a.b"]),
        response("type", headers, "16", &["Content-Type: text/html"]),
        element(
            "JSONPathAssertion",
            "ok",
            &[("JSON_PATH", "$.ok"), ("EXPECTED_VALUE", "true"), ("JSONVALIDATION", "true")],
        ),
        element(
            "SizeAssertion",
            "small",
            &[
                ("SizeAssertion.size", "1000"),
                ("SizeAssertion.operator", "4"),
                ("Assertion.test_field", "SizeAssertion.response_data"),
            ],
        ),
        response("not", body, "20", &["Error"]),
        element("DurationAssertion", "fast", &[("DurationAssertion.duration", "100")]),
    ];
    let (plan, workload) = one(&threads(1, 0, &get("a", &under.concat())));
    let tests: Vec<&Test> = plan.requests[0].check.iter().map(|check| &check.test).collect();
    let body = |wanted| Test::Text(Find::Body, wanted);
    assert_eq!(
        tests,
        [
            &Test::Status(vec![(200, 200), (302, 302)]),
            &Test::Status(vec![(200, 299)]),
            &body(TextCondition::Contains(literal_template("Welcome {name}"))),
            &body(TextCondition::Contains(literal_template("a.b"))),
            &body(TextCondition::Matches("ord-\\d+".to_owned())),
            &body(TextCondition::Matches("^(?s:a\\.b)$".to_owned())),
            &Test::Text(
                Find::Header("Content-Type".to_owned()),
                TextCondition::Contains(literal_template("text/html"))
            ),
            &Test::Text(Find::Json("$.ok".to_owned()), TextCondition::Is(literal_template("true"))),
            &Test::Size("< 1000".parse().unwrap()),
            &body(TextCondition::Contains(literal_template("Error"))),
            &Test::Time(Threshold::new("service.max", "<= 100ms").unwrap().bound),
        ]
    );
    assert_eq!(plan.requests[0].check[3].name, "says (2)");
    let negated: Vec<bool> = workload.requests()[0].checks().iter().map(|check| check.negated).collect();
    assert_eq!(negated, [false, false, false, false, false, false, false, false, false, true, false]);
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
}

#[test]
fn files_multipart_logins_and_redirects_are_translated() {
    let files = |files: &[(&str, &str, &str)]| {
        let file = |(path, name, kind): &(&str, &str, &str)| {
            format!(
                "<elementProp name=\"{path}\" elementType=\"HTTPFileArg\">{}{}{}</elementProp>",
                text("File.path", path),
                text("File.paramname", name),
                text("File.mimetype", kind)
            )
        };
        format!(
            "<elementProp name=\"HTTPsampler.Files\" elementType=\"HTTPFileArgs\"><collectionProp name=\"HTTPFileArgs.files\">{}</collectionProp></elementProp><boolProp name=\"HTTPSampler.follow_redirects\">true</boolProp>",
            files.iter().map(file).collect::<String>()
        )
    };
    let login = element("AuthManager", "who", &[]).replace("</AuthManager>", "<collectionProp name=\"AuthManager.auth_list\"><elementProp name=\"\"><stringProp name=\"Authorization.url\">http://shop/</stringProp><stringProp name=\"Authorization.username\">me</stringProp><stringProp name=\"Authorization.password\">s{x}</stringProp></elementProp><elementProp name=\"\"><stringProp name=\"Authorization.username\">them</stringProp><stringProp name=\"Authorization.mechanism\">KERBEROS</stringProp></elementProp></collectionProp></AuthManager>");
    let content = [
        login,
        post("whole", &files(&[("order.xml", "", "text/xml")]), ""),
        post("parts", &(files(&[("a.png", "picture", "image/png")]) + &arguments(&[("title", "x & y")])), ""),
        post("form", &(arguments(&[("a", "1 2"), ("b", "ä")]) + &files(&[])), ""),
        post("twice", &(arguments(&[("a", "1 2"), ("a", "&")]) + &files(&[])), ""),
    ];
    let (plan, workload) = one(&threads(1, 0, &content.concat()));
    assert_eq!(request(&plan, "whole").body, body::file("order.xml"));
    assert_eq!(
        request(&plan, "parts").body,
        Body::Multipart(vec![
            body::field("title", &Text::from("x & y"), Some("text/plain; charset=UTF-8")),
            body::upload("picture", "a.png", Some("image/png")),
        ])
    );
    assert_eq!(request(&plan, "form").body, form(&[("a", Text::from("1 2")), ("b", Text::from("ä"))]));
    assert_eq!(request(&plan, "twice").body, super::body("a=1+2&a=%26"));
    assert_eq!(plan.target.auth(), Some(&Auth::Basic(literal_template("me:s{x}"))));
    assert_eq!(plan.target.redirects(), 20);
    let target = workload.target().unwrap();
    assert_eq!(target.redirects(), 20);
    assert_eq!(format!("{:?}", target.auth().unwrap()), "Basic([Text(\"me:s{x}\")])");
    assert!(
        plan.notes.iter().any(|note| note.message.contains("`them`") && note.message.contains("KERBEROS")),
        "{:?}",
        plan.notes
    );
}

#[test]
fn generated_values_become_variables() {
    let content = [
        element(
            "CounterConfig",
            "c",
            &[("CounterConfig.start", "100"), ("CounterConfig.incr", "1"), ("CounterConfig.name", "n")],
        ),
        element("RandomVariableConfig", "r", &[("variableName", "dice"), ("minimumValue", "1"), ("maximumValue", "6")]),
        get(
            "a?n=${n}&amp;d=${dice}&amp;u=${__UUID()}&amp;r=${__Random(5,9)}&amp;t=${__threadNum}&amp;e=${__env(KEY)}",
            "",
        ),
    ];
    let (plan, _) = one(&threads(1, 0, &content.concat()));
    assert_eq!(
        plan.requests[0].path.to_source(),
        "/a?n={{n}}&d={{dice}}&u={{uuid}}&r={{random_5_9}}&t={{thread}}&e={{KEY}}"
    );
    let values: Vec<&ValueSource> = plan.variables.iter().map(|variable| &variable.value).collect();
    assert_eq!(
        values,
        [
            &ValueSource::Sequence(100),
            &ValueSource::UniformInteger(1, 6),
            &ValueSource::Uuid,
            &ValueSource::UniformInteger(5, 9),
            &ValueSource::Sequence(1),
            &ValueSource::Env("KEY".to_owned())
        ]
    );
}

#[test]
fn constants_are_resolved_in_functions_and_conditions() {
    let own = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"most\"><stringProp name=\"Argument.value\">9</stringProp></elementProp></collectionProp></Arguments><hashTree/>";
    let when = |condition: &str, under: &str| {
        format!(
            "<IfController>{}</IfController><hashTree>{under}</hashTree>",
            text("IfController.condition", condition)
        )
    };
    let content = [
        own.to_owned(),
        when("${__jexl3(\"${most}\" == \"9\",)}", &get("a?n=${__Random(1,${most},)}", "")),
        when("${__jexl3('${most}' == 'x')}", &get("b", "")),
    ];
    let (plan, _) = one(&threads(1, 0, &content.concat()));
    let paths: Vec<String> = plan.requests.iter().map(|request| request.path.to_source()).collect();
    assert_eq!((paths, &plan.notes[..]), (vec!["/a?n={{random_1_9}}".to_owned()], &[][..]));
    let deep = format!("{}x{}", "${".repeat(50_000), "}".repeat(50_000));
    assert!(read(&threads(1, 0, &get(&deep, "")), "plan.jmx", None).is_ok());
}

#[test]
fn modules_and_constant_conditions_are_resolved() {
    let fragment = format!("<TestFragmentController testname=\"browse\"/><hashTree>{}</hashTree>", get("b", ""));
    let module = "<ModuleController testname=\"m\"><collectionProp name=\"ModuleController.node_path\"><stringProp name=\"1\">Test Plan</stringProp><stringProp name=\"2\">t</stringProp><stringProp name=\"3\">browse</stringProp></collectionProp></ModuleController><hashTree/>";
    let never = format!(
        "<IfController><stringProp name=\"IfController.condition\">false</stringProp></IfController><hashTree>{}</hashTree>",
        get("c", "")
    );
    let group = threads(1, 0, &[get("a", ""), module.to_owned(), never].concat());
    let (plan, _) = one(&group.replace("<ThreadGroup", &format!("{fragment}<ThreadGroup")));
    let names: Vec<&str> = plan.requests.iter().map(|request| request.name.as_str()).collect();
    assert_eq!((names, &plan.notes[..]), (vec!["a", "b"], &[][..]));
    let (plan, _) = one(&threads(1, 0, &[get("a", ""), module.to_owned()].concat()));
    assert!(plan.notes.iter().any(|note| note.message.contains("which does not exist")), "{:?}", plan.notes);
}
