//! Tests of HAR, OpenAPI, Postman and curl files.

use offered_workload::{Identity, Protocol, Tls};

use super::*;

fn parsed(text: &str) -> (Plan, Workload) {
    one(text)
}

fn noted(plan: &Plan) -> String {
    plan.notes().join("\n")
}

/// An entry of a recording: seconds after ten o'clock, duration in ms, request and response.
fn entry(page: &str, at: f64, took: f64, asked: (&str, &str), answer: (u16, &str, &str)) -> String {
    let (method, url) = asked;
    let (status, kind, to) = answer;
    format!(
        "{{\"pageref\": \"{page}\", \"startedDateTime\": \"2026-05-01T10:00:{at:06.3}Z\", \"time\": {took}, \"request\": {{\"method\": \"{method}\", \"url\": \"{url}\", \
         \"headers\": [{{\"name\": \":path\", \"value\": \"/\"}}, {{\"name\": \"Host\", \"value\": \"shop\"}}, {{\"name\": \"Cookie\", \"value\": \"s=1\"}}, {{\"name\": \"User-Agent\", \"value\": \"B\"}}]}}, \
         \"response\": {{\"status\": {status}, \"content\": {{\"mimeType\": \"{kind}\"}}, \"redirectURL\": \"{to}\"}}}}"
    )
}

fn har(entries: &[String]) -> String {
    format!("{{\"log\": {{\"version\": \"1.2\", \"entries\": [{}]}}}}", entries.join(","))
}

#[test]
fn recordings_become_pages_with_objects_and_think_times() {
    let text = har(&[
        entry("a", 0.0, 100.0, ("GET", "http://shop:81/?q={x}"), (200, "text/html", "")),
        entry("a", 0.2, 300.0, ("GET", "http://shop:81/a.css"), (200, "text/css", "")),
        entry("a", 0.2, 50.0, ("GET", "http://shop:81/a.css"), (200, "text/css", "")),
        entry("a", 0.2, 50.0, ("GET", "http://ads/x.js"), (200, "text/javascript", "")),
        entry("a", 0.2, 50.0, ("GET", "http://shop:81/lost.png"), (404, "image/png", "")),
        entry("a", 0.9, 50.0, ("GET", "http://shop:81/api/cart"), (200, "application/json", "")),
        // Recordings can be out of order. The browser follows this redirect.
        entry("b", 8.1, 400.0, ("GET", "http://shop:81/home"), (200, "text/html", "")),
        entry("b", 5.95, 50.0, ("POST", "http://shop:81/login"), (302, "", "home")),
        entry("c", 18.5, 50.0, ("GET", "http://shop:81/bye"), (200, "text/html", "")),
        entry("c", 19.0, 0.0, ("GET", "ws://shop:81/feed"), (101, "", "")),
        entry("c", 19.0, 0.0, ("GET", "http://shop:81/blocked"), (0, "", "")),
    ]);
    let (plan, workload) = parsed(&text);
    let names: Vec<&str> = plan.requests.iter().map(|request| request.name.as_str()).collect();
    assert_eq!(names, ["/", "/api/cart", "POST /login", "/bye"]);
    assert_eq!(plan.requests[0].path.to_source(), "/?q={{'{'}}x}", "braces of a recording are no variables");
    assert_eq!(plan.requests[0].objects, [Text::from("/a.css"), Text::from("/lost.png")]);
    assert_eq!(
        plan.requests.iter().map(|request| request.objects_may_fail).collect::<Vec<_>>(),
        [true, false, false, false]
    );
    assert_eq!(plan.target.headers(), [("User-Agent".to_owned(), literal_template("B"))]);
    assert!(plan.target.cookies() && plan.target.redirects() == 20);
    let Arrivals::Closed { users: 1, think, .. } = &plan.arrivals else { panic!("{plan:?}") };
    // From 0.95 s to 5.95 s, and from 8.5 s to 18.5 s.
    assert_eq!(*think, Distribution::empirical(vec![5.0, 10.0]).unwrap());
    let thinks: Vec<_> = plan.flows[0].steps.iter().map(|step| step.think.clone()).collect();
    // The script call started 0.4 s after the style sheet was loaded.
    assert_eq!(thinks, [Some(Distribution::constant(0.4).unwrap()), None, None, None]);
    assert_eq!(workload.requests().len(), 4);
    let noted = noted(&plan);
    for what in [
        "cookie depends on the state of the recording browser",
        "to other hosts: ads (1)",
        "a WebSocket",
        "has no response",
        "2 pauses",
    ] {
        assert!(noted.contains(what), "{what}: {noted}");
    }
}

#[test]
fn recordings_without_pauses_are_noted_and_forms_are_translated() {
    let form = entry("", 0.0, 1.0, ("POST", "http://shop/a"), (200, "text/html", "")).replace("}, \"response\"", ", \"postData\": {\"mimeType\": \"application/x-www-form-urlencoded\", \"params\": [{\"name\": \"a\", \"value\": \"1 2\"}]}}, \"response\"");
    let (plan, workload) = parsed(&har(&[form]));
    assert_eq!(plan.requests[0].body, super::form(&[("a", Text::from("1 2"))]));
    assert!(workload.flows().is_none() && noted(&plan).contains("has no pause of a second"));
}

#[test]
fn curl_commands_are_read_like_shell_and_curl_do() {
    let text = r#"#!/bin/sh
BASE=http://shop:8080  # where
curl -sSX PUT "$BASE/a b?x=1" \
  -H 'X-One: {a} '"$KEY" -H "Accept:" -H 'Empty;' \
  --data-raw $'{"it\'s": "\u00e4\n"}' --max-time 2.5
curl -G $BASE/search --data-urlencode 'q=ä b' -d page=2 -u me:secret -L --max-redirs 3 | jq .x
curl $BASE/up -F 'f=@pic.png;type=image/png' -F t=x -b 'a=1; b=2' --compressed && curl -I $BASE/head
curl $BASE/json --json '{"a": 1}' --retry 3 --no-such -o /dev/null > log.txt
wget http://other/
"#;
    let (plan, workload) = parsed(text);
    let request = |at: usize| &plan.requests[at];
    assert_eq!(plan.requests.len(), 5);
    assert_eq!((request(0).method.as_str(), request(0).path.to_source().as_str()), ("put", "/a%20b?x=1"));
    assert_eq!(request(0).body, body("{\"it's\": \"ä\n\"}"));
    let headers: Vec<(&str, String)> =
        request(0).headers.iter().map(|(name, value)| (name.as_str(), value.to_source())).collect();
    assert_eq!(headers[0], ("X-One", "{{'{'}}a} {{KEY}}".to_owned()));
    assert_eq!(headers[1], ("Empty", String::new()));
    assert_eq!(request(1).path.to_source(), "/search?q=%C3%A4+b&page=2");
    assert_eq!(
        (request(1).method.as_str(), &request(1).auth),
        ("get", &Some(Auth::Basic(literal_template("me:secret"))))
    );
    assert!(
        matches!(&request(2).body, Body::Multipart(parts) if parts.len() == 2 && parts[0].file.is_some() && parts[0].media_type.as_deref() == Some("image/png"))
    );
    assert_eq!(request(3).method, "head");
    assert_eq!(request(4).header("accept"), Some(&Text::from("application/json")));
    assert_eq!(plan.target.redirects(), 3);
    assert_eq!(plan.target.response_timeout(), Nanos::from_millis(2500));
    assert_eq!(
        plan.variables,
        [Variable {
            name: "KEY".to_owned(),
            value: ValueSource::Env("KEY".to_owned()),
            per: offered_workload::script::Per::Session
        }]
    );
    assert!(workload.flows().is_some(), "several commands are one after another");
    let lines: Vec<(usize, &str)> = plan.notes.iter().map(|note| (note.line, note.message.as_str())).collect();
    assert_eq!(
        lines,
        [
            (
                0,
                "only some commands remove the header Accept; here all requests without this header send the default of the generator"
            ),
            (8, "--retry 3: not translated"),
            (8, "--no-such: not translated"),
            (9, "is not a curl command; left out")
        ]
    );
}

#[test]
fn curl_commands_copied_on_windows_are_read() {
    let text = "curl ^\"http://shop/a?b=c^\" ^\r\n  -H ^\"accept: */*^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\": 1^}^\"";
    let (plan, _) = parsed(text);
    assert_eq!((plan.requests[0].method.as_str(), plan.requests[0].path.to_source().as_str()), ("post", "/a?b=c"));
    assert_eq!(plan.requests[0].body, body("{\"a\": 1}"));
    assert!(plan.flows.is_empty());
}

#[test]
fn connection_options_of_curl_are_translated() {
    let text = "curl -k --http2 https://shop/a --cert me.pem -x proxy:3128 --cacert ca.pem";
    let (plan, workload) = parsed(text);
    assert_eq!(plan.target.url().to_string(), "https://shop/");
    assert_eq!(plan.target.protocol(), Protocol::Auto);
    assert_eq!(plan.target.proxy().map(ToString::to_string).as_deref(), Some("http://proxy:3128"));
    let identity = Some(Identity { certificate: "me.pem".into(), key: "me.pem".into() });
    assert_eq!(*plan.target.tls(), Tls { insecure: true, roots: None, identity, ..Tls::default() });
    assert!(workload.target().unwrap().tls().insecure);
    let (plan, _) = parsed("curl -k --http2 http://shop/a");
    let reached = (plan.target.protocol(), plan.target.tls());
    assert_eq!(reached, (Protocol::Http1, &Tls::default()), "these options have no effect with plain http");
}

#[test]
fn truncated_commands_give_one_line_errors() {
    let refusal = |text: &str| read(text, "c.sh", None).unwrap_err().to_string();
    assert_eq!(refusal("\ncurl http://a/ -d 'x"), "c.sh:2: unclosed quote; the command is truncated");
    assert_eq!(
        refusal("curl http://a/ -H"),
        "c.sh:1: the command ends after -H, which needs a value; it is truncated; copy it again"
    );
    assert_eq!(refusal("curl ftp://a/"), "c.sh:1: no curl command with an HTTP URL");
}

const API: &str = r#"
openapi: 3.1.0
info: {title: Pets, version: "1"}
servers:
  - url: http://{host}/v1
    variables: {host: {default: pets.local}}
security: [{login: []}]
paths:
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: integer, minimum: 7}}
    get:
      operationId: getPet
      parameters:
        - {name: verbose, in: query, schema: {type: boolean}, example: true}
        - {name: tags, in: query, schema: {type: array}, example: [a, b c]}
        - {name: unused, in: query, schema: {type: string}}
      responses: {"200": {description: ok}, "404": {description: no}}
  /pets:
    post:
      security: []
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Pet'}
            examples:
              cat: {value: {name: Tom, kind: cat}}
              dog: {$ref: '#/components/examples/dog'}
      responses: {"201": {description: made}}
    put:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
      responses: {2XX: {description: made}}
components:
  securitySchemes: {login: {type: http, scheme: basic}}
  examples: {dog: {value: {name: Rex}}}
  schemas:
    Pet:
      allOf: [{$ref: '#/components/schemas/Named'}]
      properties:
        mother: {$ref: '#/components/schemas/Pet'}
        born: {type: string, format: date}
        tags: {type: array, items: {type: string, enum: [a, b]}}
    Named: {type: object, properties: {id: {type: integer, readOnly: true}, name: {type: string, example: Ann}}}
"#;

#[test]
fn each_operation_becomes_a_flow() {
    let (plan, workload) = parsed(API);
    let flows: Vec<(&str, usize)> = plan.flows.iter().map(|flow| (flow.name.as_str(), flow.steps.len())).collect();
    assert_eq!(flows, [("getPet", 1), ("PUT /pets", 1), ("POST /pets", 2)]);
    let request = |name: &str| plan.requests.iter().find(|request| request.name == name).unwrap();
    assert_eq!(request("getPet").path.to_source(), "/v1/pets/{{petId}}?verbose=true&tags=a&tags=b+c");
    assert_eq!(request("getPet").check, [Check::of(Test::Status(vec![(200, 200)]))]);
    assert_eq!(request("PUT /pets").body, body("{\"name\": \"Ann\", \"born\": \"2026-01-01\", \"tags\": [\"a\"]}"));
    assert_eq!(
        request("PUT /pets").auth.as_ref().map(|auth| if let Auth::Basic(text) = auth {
            text.to_string()
        } else {
            String::new()
        }),
        Some("{{user}}:{{password}}".to_owned())
    );
    assert_eq!(request("POST /pets, dog").body, body("{\"name\": \"Rex\"}"));
    assert_eq!(request("POST /pets, dog").auth, None);
    assert!(plan.variables.contains(&Variable::constant("petId", "7")));
    assert!(plan.text("api").unwrap().contains("# A draft: "));
    assert_eq!(workload.target().unwrap().url().to_string(), "http://pets.local/");
    let noted = noted(&plan);
    for what in ["`{petId}` has no example", "the body has no example", "needs a login (`login`)"] {
        assert!(noted.contains(what), "{what}: {noted}");
    }
    // JSON gives the same result.
    let json = serde_json::to_string(&serde_saphyr::from_str::<serde_json::Value>(API).unwrap()).unwrap();
    let (again, _) = parsed(&json);
    assert_eq!(again.requests.len(), plan.requests.len());
}

#[test]
fn each_postman_folder_becomes_a_flow() {
    let text = r#"{"info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
      "variable": [{"key": "base", "value": "http://{{host}}:8080"}, {"key": "host", "value": "shop"}],
      "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]},
      "item": [
        {"name": "Login", "item": [
          {"name": "sign in", "event": [{"listen": "test", "script": {"exec": ["pm.environment.set('token',", "  pm.response.json().token)"]}}],
           "request": {"method": "POST", "auth": {"type": "noauth"}, "body": {"mode": "raw", "raw": "{\"u\": \"{{user}}\", \"{id}\": 1}", "options": {"raw": {"language": "json"}}}, "url": {"raw": "{{base}}/login"}}},
          {"name": "deep", "item": [{"name": "form", "request": {"method": "POST", "url": {"host": ["{{base}}"], "path": ["form", ":id"], "query": [{"key": "x", "value": "{{$guid}}"}, {"key": "y", "disabled": true}], "variable": [{"key": "id", "value": "7"}]},
            "body": {"mode": "urlencoded", "urlencoded": [{"key": "a", "value": "1"}, {"key": "b", "value": "x", "disabled": true}]}}}]}]},
        {"name": "Graph", "item": [
          {"name": "q", "request": {"method": "POST", "url": "{{base}}/graphql", "body": {"mode": "graphql", "graphql": {"query": "query { me { id } }", "variables": "{\"a\": 1}"}}}},
          {"name": "file", "request": {"method": "POST", "url": "{{base}}/up", "auth": {"type": "apikey", "apikey": {"key": "k", "value": "v", "in": "query"}}, "body": {"mode": "formdata", "formdata": [{"key": "f", "type": "file", "src": "/a.png"}, {"key": "t", "value": "x", "type": "text"}]}}},
          {"name": "aws", "request": {"url": "{{base}}/aws", "auth": {"type": "awsv4", "awsv4": []}}}]}]}"#;
    let (plan, _) = parsed(text);
    let flows: Vec<&str> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(flows, ["Login", "Login / deep", "Graph"]);
    assert_eq!(plan.target.url().to_string(), "http://shop:8080/");
    let request = |name: &str| plan.requests.iter().find(|request| request.name == name).unwrap();
    assert!(
        matches!(&request("sign in").body, Body::Text(body) if body.to_string() == "{\"u\": \"{{user|raw}}\", \"{id}\": 1}")
    );
    assert_eq!(request("sign in").auth, None);
    assert_eq!(request("form").path.to_source(), "/form/7?x={{guid}}");
    assert_eq!(request("form").body, form(&[("a", Text::from("1"))]));
    assert_eq!(request("form").auth, Some(Auth::Bearer(Template::new("{{token}}"))));
    assert_eq!(request("q").body, body("{\"query\":\"query { me { id } }\",\"variables\":{\"a\": 1}}"));
    assert_eq!(request("file").path.to_source(), "/up?k=v");
    assert!(matches!(&request("file").body, Body::Multipart(parts) if parts[0].file.as_deref() == Some("/a.png")));
    let noted = noted(&plan);
    for what in
        ["pm.environment.set('token', pm.response.json().token)", "`{{token}}` has no value", "`{{user}}` has no value"]
    {
        assert!(noted.contains(what), "{what}: {noted}");
    }
}

#[test]
fn oauth2_of_a_collection_becomes_keys_and_a_target() {
    let item = |name: &str, keys: &str| {
        format!(
            "{{\"name\": \"{name}\", \"request\": {{\"url\": \"http://shop/{name}\", \"auth\": {{\"type\": \"oauth2\", \"oauth2\": [{keys}]}}}}}}"
        )
    };
    let pairs = |pairs: &[(&str, &str)]| {
        let pairs = pairs
            .iter()
            .map(|(key, value)| format!("{{\"key\": \"{key}\", \"value\": \"{value}\", \"type\": \"string\"}}"));
        pairs.collect::<Vec<_>>().join(",")
    };
    let (url, id) = (("accessTokenUrl", "http://id.test:81/token?v=1"), ("clientId", "{{id}}"));
    let service = [("grant_type", "client_credentials"), url, id, ("clientSecret", "{{secret}}"), ("scope", "a b")];
    let user = [
        ("grant_type", "password_credentials"),
        url,
        id,
        ("username", "ann"),
        ("password", "p"),
        ("client_authentication", "body"),
    ];
    let browser = [("grant_type", "authorization_code"), url, ("accessToken", "given")];
    let text = format!(
        "{{\"info\": {{\"name\": \"S\", \"schema\": \"https://schema.getpostman.com/json/collection/v2.1.0/collection.json\"}}, \
         \"item\": [{}, {}, {}, {}]}}",
        item("a", &pairs(&service)),
        item("b", &pairs(&user)),
        item("c", &pairs(&browser)),
        item("d", ""),
    );
    let (plan, _) = parsed(&text);
    let written = plan.text("s.json").unwrap();
    for line in [
        "auth = { oauth2 = { token_url = \"http://id.test:81/token?v=1\", client_id = \"{{id}}\", client_secret = \"{{secret}}\", scope = \"a b\" } }",
        "auth = { oauth2 = { token_url = \"http://id.test:81/token?v=1\", grant = \"password\", client_id = \"{{id}}\", username = \"ann\", \
         password = \"p\", client_auth = \"body\" } }",
        "name = \"id.test:81\"\nurl = \"http://id.test:81/\"",
        "auth = { bearer = \"given\" }",
        "auth = { bearer = \"{{token}}\" }",
    ] {
        assert!(written.contains(line), "{line}\n{written}");
    }
    assert!(noted(&plan).contains("set `auth.bearer`, or `auth.oauth2`"));
}

#[test]
fn formats_are_detected_by_content() {
    let refusal = |text: &str| read(text, "f", None).unwrap_err().to_string();
    for (text, says) in [
        ("import http from 'k6/http';", "is a script for k6"),
        ("from locust import HttpUser", "from-scripts.md#locust"),
        ("import io.gatling.core.Predef._", "is a script for Gatling"),
        ("export const config = {};\nexport const scenarios = [];", "is a script for Artillery"),
        ("config:\n  target: http://x\nscenarios:\n  - flow: []", "no scenario sends an HTTP request"),
        ("{\"vus\": 5, \"duration\": \"1m\"}", "the variable `url` has no value"),
        ("{\"swagger\": \"1.2\"}", "is Swagger 1.2"),
        ("swagger: '2.0'", "no operations in `paths`"),
        ("openapi: 2.9.0", "is OpenAPI 2.9.0"),
        ("{\"info\": {\"schema\": \"https://schema.getpostman.com/json/collection/v1.0.0/\"}}", "collection v1"),
        ("{\"values\": [], \"_postman_variable_scope\": \"environment\"}", "a Postman environment"),
        ("{\"log\": {\"entries\": []}}", "contains no requests"),
        ("{\"a\": 1}", "unknown file format"),
        ("<html/>", "root element is <html>"),
        ("{\"log\": {\"entries\": [", "f:1: the file ends inside its JSON; it is truncated; copy it again"),
        ("{\"log\": x}", "f:1: not well-formed JSON: expected value"),
        ("openapi: 3.0.0\npaths: [a", "f:2: not well-formed YAML: "),
        ("openapi: 3.0.0\npaths: {}", "has no operations"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(says) && !refusal.contains('\n'), "{text}: {refusal}");
    }
}
