//! Regression tests of OpenAPI descriptions, recordings (HAR), curl commands and Postman collections that an earlier version
//! translated wrongly without a note.

use super::semantics::{has, paths, with};
use super::*;

#[test]
fn openapi_files_may_quote_curl_commands() {
    let yaml = "openapi: 3.0.0\ninfo:\n  description: |\n    Try\n    curl http://third.party/a\nservers: [{url: 'http://own.test'}]\npaths: {/a: {get: {}}}\n";
    assert_eq!(read(yaml, "f", None).unwrap()[0].target.url().to_string(), "http://own.test/");
    let script = "curl http://a/ -d @- <<END\nopenapi: 3\nEND\n";
    assert_eq!(read(script, "f", None).unwrap()[0].target.url().to_string(), "http://a/");
}

#[test]
fn files_that_start_as_openapi_are_openapi() {
    let yaml = "# pets\nopenapi: 3.0.0\ninfo:\n  description: |\n    Try\npaths: {/a: {get: {}}}\nservers: [{url: 'http://own.test'}]\nx-note: >\n  a\n";
    assert_eq!(read(yaml, "f", None).unwrap()[0].target.url().to_string(), "http://own.test/");
    // A command at the start of a line makes it invalid YAML, never a load on the host of the command.
    let broken = format!("{yaml}curl http://third.party/a\n");
    assert!(read(&broken, "f", None).unwrap_err().to_string().contains("not well-formed YAML"));
    let quoting = "openapi: 3.0.0\ninfo: {description: \"from 'k6'\"}\npaths: {/a: {get: {}}}\n";
    assert_eq!(read(quoting, "f", None).unwrap()[0].requests.len(), 1);
}

/// A recording with these entries: seconds, URL, status, resource type.
pub(super) fn recording(entries: &[(u32, &str, i32, &str)]) -> String {
    let entry = |(at, url, status, kind): &(u32, &str, i32, &str)| {
        format!(
            "{{\"startedDateTime\": \"2026-01-01T{:02}:{:02}:{:02}Z\", \"time\": 10, \"_resourceType\": \"{kind}\", \"request\": {{\"method\": \"GET\", \"url\": \"{url}\"}}, \"response\": {{\"status\": {status}}}}}",
            at / 3600,
            at / 60 % 60,
            at % 60
        )
    };
    format!("{{\"log\": {{\"entries\": [{}]}}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
}

#[test]
fn recordings_target_the_host_of_their_page() {
    let har = recording(&[
        (0, "http://own/", 200, "document"),
        (2, "http://cdn/1", 200, "xhr"),
        (4, "http://cdn/2", 200, "xhr"),
        (6, "http://own/pushed", -2, "xhr"),
        (3606, "http://own/late", 200, "xhr"),
    ]);
    let plan = read(&har, "f", None).unwrap().remove(0);
    assert_eq!(
        (plan.target.url().to_string().as_str(), paths(&plan)),
        ("http://own/", vec!["/".to_owned(), "/late".to_owned()])
    );
    assert!(has(&plan, "longest pause is 1h"), "{:?}", plan.notes());
    let capped = ImportOptions { max_pause: Some(Nanos::from_secs(30)), ..ImportOptions::default() };
    let plan = super::super::read(&har, "f", &capped).unwrap().remove(0);
    let Arrivals::Closed { think, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert!(think.mean() < 31.0 && has(&plan, "1 pause was longer than 30s"), "{:?}", plan.notes());
}

#[test]
fn recordings_of_redirected_pages_target_the_final_host() {
    let redirect = recording(&[(0, "http://x.test/", 301, "document")])
        .replace("\"status\": 301", "\"status\": 301, \"redirectURL\": \"http://www.x.test/\"");
    let redirect = redirect.split_once('[').unwrap().1.rsplit_once(']').unwrap().0.to_owned();
    let text = recording(&[
        (1, "http://www.x.test/", 200, "document"),
        (2, "http://www.x.test/a.css", 200, "stylesheet"),
        (5, "http://www.x.test/next", 200, "document"),
    ])
    .replace("\"entries\": [", &format!("\"entries\": [{redirect},"));
    let plan = read(&text, "f", None).unwrap().remove(0);
    assert_eq!(
        (plan.target.url().to_string().as_str(), paths(&plan)),
        ("http://www.x.test/", vec!["/".to_owned(), "/next".to_owned()])
    );
    assert_eq!(plan.requests[0].objects, [Text::from("/a.css")]);
    assert!(has(&plan, "was redirected to http://www.x.test/"), "{:?}", plan.notes());
}

#[test]
fn curl_fields_from_files_are_noted() {
    let plan = read("curl http://a/ -F 'note=<f.txt' -F 'pic=@p.png'\n", "f", None).unwrap().remove(0);
    let Body::Multipart(parts) = &plan.requests[0].body else { panic!("{plan:?}") };
    assert_eq!(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["pic"]);
    assert!(has(&plan, "-F note=<f.txt"), "{:?}", plan.notes());
}

#[test]
fn time_and_redirect_limits_of_curl_are_translated() {
    let mixed =
        with("curl http://h/a\ncurl -L http://h/b\ncurl -L --max-redirs 1 -c jar http://h/c\n", &[]).unwrap().remove(0);
    let own: Vec<Option<u32>> = mixed.requests.iter().map(|request| request.redirects).collect();
    assert_eq!((mixed.target.redirects(), own), (50, vec![Some(0), None, Some(1)]), "the options of one command");
    assert!(has(&mixed, "only some commands keep cookies"), "{:?}", mixed.notes());
    // Below its resolution of a millisecond curl sets no limit.
    let plan = with("curl --max-time 0.0000000001 --connect-timeout 0.0004 http://h/", &[]).unwrap().remove(0);
    let workload = plan.workload().unwrap();
    assert_eq!(workload.target().unwrap().response_timeout(), Nanos::from_secs(30));
    assert!(!has(&plan, "max-time"), "{:?}", plan.notes());
    for (most, followed, noted) in [("100", 100, false), ("1000", 100, true), ("-1", 100, true), ("7", 7, false)] {
        let plan = with(&format!("curl -L --max-redirs {most} http://h/"), &[]).unwrap().remove(0);
        assert_eq!(plan.target.redirects(), followed, "{most}");
        assert_eq!(has(&plan, "at most 100"), noted, "{most}: {:?}", plan.notes());
    }
}

#[test]
fn headers_that_curl_removes_are_not_sent() {
    let plan = read("curl -H 'Accept:' -H 'X-A:' http://h/\n", "f", None).unwrap().remove(0);
    assert!(plan.target.omits_header("accept") && !plan.target.omits_header("user-agent"));
    assert_eq!(plan.notes(), Vec::<String>::new());
    let plan = read("curl -H 'Accept:' http://h/\ncurl http://h/b\n", "f", None).unwrap().remove(0);
    assert!(!plan.target.omits_header("accept") && has(&plan, "only some commands remove the header Accept"));
}

#[test]
fn curl_removes_dot_segments_and_sends_the_credentials_of_a_url() {
    // lib/urlapi.c and lib/mime.c of curl.
    let read = |command: &str| read(&format!("{command}\n"), "f", None).unwrap().remove(0);
    assert_eq!(paths(&read("curl http://h/a/../b")), ["/b"]);
    assert_eq!(paths(&read("curl --path-as-is http://h/a/../b")), ["/a/../b"]);
    let auth = read("curl http://me:p%40w@h/a").requests[0].auth.clone();
    assert_eq!(auth, Some(Auth::Basic(literal_template("me:p@w"))));
    let plan = read("curl -F f=@a.txt http://h/");
    let Body::Multipart(parts) = &plan.requests[0].body else { panic!("{plan:?}") };
    assert_eq!(parts[0].media_type.as_deref(), Some("text/plain"));
    let upload = read("curl -T a.bin http://h/");
    assert_eq!(paths(&upload), ["/a.bin"]);
    assert_eq!(paths(&read("curl -T 'd/a b' http://h")), ["/a%20b"]);
    assert_eq!(paths(&read("curl -T a.bin http://h/f")), ["/f"]);
    assert!(has(&upload, "Expect: 100-continue") && !has(&upload, "Content-Length"), "{:?}", upload.notes());
    assert!(has(&read("curl -X POST http://h/"), "no Content-Length"));
}

#[test]
fn postman_requests_are_those_that_postman_sends() {
    let collection = |items: &str| format!("{{\"info\": {{\"schema\": \"/collection/v2\"}}, \"item\": [{items}]}}");
    let item = |request: &str| format!("{{\"name\": \"a\", \"request\": {request}}}");
    let one = |request: &str| read(&collection(&item(request)), "f", None).unwrap().remove(0).requests.remove(0);
    let url = "\"url\": {\"raw\": \"http://h/p?a=1&b=2\", \"query\": [{\"key\": \"a\", \"value\": \"1\", \"disabled\": true}, {\"key\": \"b\", \"value\": \"2\"}]}";
    assert_eq!(one(&format!("{{{url}}}")).path.to_source(), "/p?b=2");
    let raw = "\"body\": {\"mode\": \"raw\", \"raw\": \"hi\"}";
    let post = one(&format!("{{\"method\": \"POST\", \"url\": \"http://h/\", {raw}}}"));
    assert_eq!(post.header("content-type"), Some(&Text::from("text/plain")));
    assert_eq!(post.body, body("hi"));
    let pruned = one(&format!("{{\"method\": \"GET\", \"url\": \"http://h/\", {raw}}}"));
    assert_eq!((&pruned.body, pruned.header("content-type")), (&Body::None, None));
    let kept = format!(
        "{{\"name\": \"a\", \"protocolProfileBehavior\": {{\"disableBodyPruning\": true}}, \"request\": {{\"method\": \"GET\", \"url\": \"http://h/\", {raw}}}}}"
    );
    assert_eq!(read(&collection(&kept), "f", None).unwrap()[0].requests[0].body, body("hi"));
    // A request inherits the settings of its folder.
    let folder = format!(
        "{{\"name\": \"f\", \"protocolProfileBehavior\": {{\"disableBodyPruning\": true, \"followRedirects\": false}}, \"item\": [{}, {}]}}",
        item(&format!("{{\"method\": \"GET\", \"url\": \"http://h/\", {raw}}}")),
        "{\"name\": \"b\", \"protocolProfileBehavior\": {\"followRedirects\": true}, \"request\": \"http://h/b\"}"
    );
    let inherited = read(&collection(&folder), "f", None).unwrap().remove(0).requests;
    assert_eq!((&inherited[0].body, inherited[0].redirects, inherited[1].redirects), (&body("hi"), Some(0), None));
    // A fragment is not sent, and newman adds headers of its own (postman-runtime).
    assert_eq!(one("\"http://h/p#part\"").path.to_source(), "/p");
    let names: Vec<String> = one("\"http://h/\"").headers.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Accept-Encoding", "Cache-Control"]);
    // The host that the user sets is the target.
    let items = [item("\"http://third.party/hit\""), item("\"{{base}}/login\"")].join(",");
    let plan = with(&collection(&items), &[("base", "http://mine:81")]).unwrap().remove(0);
    assert_eq!(plan.target.url().to_string(), "http://mine:81/");
}

#[test]
fn curl_reads_here_documents_and_pipes() {
    let sent = |text: &str| read(text, "f", None).unwrap().remove(0).requests.remove(0);
    let here = sent("curl --data-binary @- http://h/ <<EOF\n{\"a\": \"it's\"}\nEOF\n");
    assert_eq!((here.method.as_str(), here.body), ("post", body("{\"a\": \"it's\"}\n")));
    assert_eq!(sent("cat <<'EOF' | curl -d @- http://h/\na=$1\nb\nEOF\n").body, body("a=$1b"));
    assert_eq!(sent("curl --json @- http://h/ <<< '[1]'").body, body("[1]\n"));
    assert_eq!(sent("echo -n 'x=1' | curl -T - http://h/").body, body("x=1"));
    assert_eq!(sent("curl -d @- http://h/").method, "post");
    assert_eq!(sent("B=2\ncurl --data-binary @- http://h/ <<EOF\nb=$B\nEOF\n").body, body("b=2\n"));
    let quoted = sent("curl -d \"$(cat <<EOF\n{\"a\": 1}\n\nEOF\n)\" http://h/");
    assert_eq!(quoted.body, body("{\"a\": 1}"));
    // Text of a here-document is no command, whatever quotes it has.
    let plan = read("cat <<-END\n\tdon't\n\tEND\ncurl http://h/a\n", "f", None).unwrap().remove(0);
    assert_eq!(paths(&plan), ["/a"]);
    // A process substitution is a command.
    assert!(has(&read("curl -d @<(echo it\\'s) http://h/", "f", None).unwrap()[0], "output of a command"));
}

#[test]
fn curl_sends_its_own_headers_only_if_the_command_gives_none() {
    let sent = |command: &str| read(command, "f", None).unwrap().remove(0).requests.remove(0);
    let header = |command: &str, name: &str| sent(command).header(name).map(Text::to_display);
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(header("curl --compressed -H 'Accept-Encoding: br' http://h/", "accept-encoding"), some("br"));
    assert_eq!(header("curl --compressed http://h/", "accept-encoding"), some("deflate, gzip, br, zstd"));
    assert_eq!(header("curl -r 600 http://h/", "range"), some("bytes=600-"));
    assert_eq!(header("curl -H 'Content-Type: multipart/form-data' -F a=b http://h/", "content-type"), None);
    assert_eq!(sent("curl --url-query b=1 'http://h/?a&'").path.to_source(), "/?a&b=1");
    assert_eq!(sent("curl --url-query 'q=a b' --url-query +c=%20 http://h/").path.to_source(), "/?q=a+b&c=%20");
    let get = read("curl -G -d @q.txt -d a=1 http://h/", "f", None).unwrap().remove(0);
    assert_eq!((get.requests[0].method.as_str(), paths(&get)), ("get", vec!["/?a=1".to_owned()]));
    assert!(has(&get, "-G adds the content of `q.txt`"), "{:?}", get.notes());
    assert_eq!(header("curl -b a=$B http://h/", "cookie"), some("a={{B}}"));
    assert!(has(&read("curl -b $JAR http://h/", "f", None).unwrap()[0], "read as the name of a file"));
    assert_eq!(sent("curl -u me:pw -H 'Authorization: x' http://h/").auth, None);
    assert_eq!(sent("curl --digest -u me:pw http://h/").auth, Some(Auth::Digest(literal_template("me:pw"))));
    let Some(Auth::Aws(aws)) = sent("curl --aws-sigv4 aws:amz:eu-west-1:s3 -u k:s http://h/").auth else { panic!() };
    assert_eq!((aws.region.as_str(), aws.service.as_str(), aws.secret_key), ("eu-west-1", "s3", literal_template("s")));
}

#[test]
fn postman_uses_the_parts_of_a_url() {
    let collection = |url: &str, more: &str| {
        let request = format!("{{\"method\": \"POST\", \"url\": {url}{more}}}");
        let text = format!(
            "{{\"info\": {{\"schema\": \"/collection/v2\"}}, \"item\": [{{\"name\": \"a\", \"request\": {request}}}]}}"
        );
        read(&text, "f", None).unwrap().remove(0)
    };
    let parts = r#"{"raw": "http://other/x/", "protocol": "http", "host": ["h", "test"], "port": "81", "path": ["v1", ":id.json"],
        "query": [{"key": "a", "value": "b&c"}, {"key": "d", "value": null}], "variable": [{"key": "id", "value": "7"}]}"#;
    let plan = collection(parts, "");
    assert_eq!(plan.target.url().to_string(), "http://h.test:81/");
    assert_eq!(paths(&plan), ["/v1/7.json?a=b%26c&d"]);
    let sent = |more: &str| collection("\"http://h/\"", more).requests.remove(0);
    let graphql = ", \"body\": {\"mode\": \"graphql\", \"graphql\": {\"query\": \"{a}\", \"operationName\": \"o\", \"variables\": {\"b\": 1}}}";
    assert_eq!(sent(graphql).body, body(r#"{"query":"{a}","operationName":"o","variables":{"b":1}}"#));
    let empty = sent(", \"body\": {\"mode\": \"urlencoded\", \"urlencoded\": []}");
    assert_eq!((empty.body, empty.headers.iter().any(|(name, _)| name == "Content-Type")), (Body::None, false));
    let file = ", \"body\": {\"mode\": \"formdata\", \"formdata\": [{\"key\": \"f\", \"type\": \"file\", \"src\": \"a.JSON\"}]}";
    let Body::Multipart(upload) = sent(file).body else { panic!() };
    assert_eq!(upload[0].media_type.as_deref(), Some("application/json"));
    let auth = |auth: &str| sent(&format!(", \"auth\": {{{auth}}}")).auth;
    assert_eq!(auth("\"type\": \"bearer\", \"bearer\": {\"token\": \"\"}"), None);
    let digest = auth("\"type\": \"digest\", \"digest\": {\"username\": \"a\", \"password\": \"b\"}");
    assert_eq!(digest, Some(Auth::Digest(literal_template("a:b"))));
    assert_eq!(paths(&collection("\"http://h/{{$timestamp}}\"", "")), ["/{{now|unix}}"]);
    let key = r#", "auth": {"type": "apikey", "apikey": {"key": "k", "value": "v", "in": "query"}}"#;
    assert_eq!(paths(&collection("\"http://h/a#top\"", key)), ["/a?k=v"]);
}

#[test]
fn objects_of_a_page_stay_with_it_after_a_request_to_another_server() {
    let text = recording(&[
        (1, "http://x.test/", 200, "document"),
        (2, "http://ads.test/frame", 200, "document"),
        (3, "http://x.test/late.css", 200, "stylesheet"),
    ]);
    let plan = read(&text, "f", None).unwrap().remove(0);
    assert_eq!(plan.requests[0].objects, [Text::from("/late.css")]);
    // Without times the order of the file counts.
    let untimed = text.replace("2026-01-01T00:00:01Z", "");
    let plan = read(&untimed, "f", None).unwrap().remove(0);
    assert!(has(&plan, "without startedDateTime"), "{:?}", plan.notes());
}

#[test]
fn swagger_2_is_read_as_openapi_3() {
    let text = r##"{"swagger": "2.0", "host": "h.test", "basePath": "/v1", "schemes": ["https"], "consumes": ["application/json"],
        "securityDefinitions": {"key": {"type": "basic"}}, "security": [{"key": []}],
        "parameters": {"id": {"name": "id", "in": "path", "required": true, "type": "integer", "default": 7}},
        "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string", "example": "Rex"}}}},
        "paths": {"/pets/{id}": {"parameters": [{"$ref": "#/parameters/id"}],
            "get": {"operationId": "get", "parameters": [{"name": "tags", "in": "query", "required": true, "type": "array", "collectionFormat": "csv", "items": {"type": "string"}, "x-example": ["a", "b"]}]},
            "post": {"operationId": "post", "parameters": [{"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}}]},
            "put": {"operationId": "put", "consumes": ["application/x-www-form-urlencoded"], "parameters": [{"name": "name", "in": "formData", "required": true, "type": "string", "default": "Max"}]},
            "patch": {"operationId": "patch", "parameters": [{"name": "photo", "in": "formData", "type": "file", "required": true}]}}}}"##;
    let plan = read(text, "f", None).unwrap().remove(0);
    assert_eq!(plan.target.url().to_string(), "https://h.test/");
    let request = |name: &str| plan.requests.iter().find(|request| request.name == name).unwrap();
    assert_eq!(request("get").path.to_source(), "/v1/pets/{{id}}?tags=a%2Cb");
    assert_eq!(request("post").body, body("{\"name\": \"Rex\"}"));
    assert_eq!(request("put").body, form(&[("name", Text::from("Max"))]));
    assert!(matches!(request("patch").body, Body::Multipart(_)) && matches!(request("get").auth, Some(Auth::Basic(_))));
}

#[test]
fn lists_of_urls_are_read_as_siege_and_vegeta_do() {
    let siege = "# comment\nHOST=h.test\nhttp://$(HOST)/a b\nhttps://u:p@${HOST}/in POST x=1&y\n\nhttp://$HOST/up PUT </tmp/f.json\n";
    let plan = read(siege, "f", None).unwrap().remove(0);
    assert_eq!(
        (plan.target.url().to_string().as_str(), paths(&plan)),
        ("http://h.test/", vec!["/a%20b".to_owned(), "/up".to_owned()])
    );
    assert!(has(&plan, "goes to another server, https://h.test/") && has(&plan, "siege derives the Content-Type"));
    let plan = with(siege, &[("HOST", "mine")]).unwrap().remove(0);
    assert_eq!(plan.target.url().to_string(), "http://mine/");
    let post = read("http://h/a POST x=1\n", "f", None).unwrap().remove(0).requests.remove(0);
    assert_eq!((post.method.as_str(), post.body.clone()), ("post", body("x=1")));
    assert_eq!(post.header("content-type"), Some(&Text::from("application/x-www-form-urlencoded")));
    let unset = read("A=1\nhttp://$(A)$(B)/\n", "f", None).unwrap_err().to_string();
    assert!(unset.contains("the variable `B` has no value"), "{unset}");
    let vegeta = "GET http://h/a\nX-A: b: c\n\nPOST http://h/b\n@body.json\n";
    let plan = read(vegeta, "f", None).unwrap().remove(0);
    assert_eq!(plan.requests[0].header("x-a"), Some(&Text::from("b: c")));
    assert!(matches!(&plan.requests[1].body, Body::File { file, .. } if file == "body.json"), "{plan:?}");
    assert_eq!(plan.flows[0].steps.len(), 2);
    assert!(!plan.target.cookies());
}

#[test]
fn configurations_of_tsung_are_refused_with_a_remedy() {
    let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE tsung SYSTEM \"tsung-1.0.dtd\">\n<tsung loglevel=\"notice\"/>";
    assert!(read(text, "f", None).unwrap_err().to_string().contains("is a configuration of Tsung"));
}

#[test]
fn many_positions_without_lines_are_counted() {
    let plan = read(
        &recording(
            &(0..20)
                .map(|n| (n, "http://a/b", 0, "xhr"))
                .chain([(30, "http://a/", 200, "document")])
                .collect::<Vec<_>>(),
        ),
        "f",
        None,
    );
    let notes = plan.unwrap().remove(0).notes();
    assert!(notes.iter().any(|note| note.contains("and 12 more: has no response")), "{notes:?}");
}

#[test]
fn lists_of_urls_have_the_headers_of_their_tool() {
    let sent = |text: &str| read(text, "f", None).unwrap().remove(0);
    let encodings = |plan: &Plan| {
        let headers = plan.target.headers().iter();
        headers.filter(|(name, _)| name == "Accept-Encoding").map(|(_, value)| value.to_string()).collect::<Vec<_>>()
    };
    let siege = sent("http://h/a\nhttp://h/b\n");
    assert_eq!(encodings(&siege), ["gzip, deflate"]);
    assert!(!siege.target.omits_header("accept"));
    let vegeta = sent("GET http://h/a\n\nGET http://h/b\n");
    assert_eq!(encodings(&vegeta), ["gzip"]);
    assert!(vegeta.target.omits_header("accept"));
    // Go sends none with HEAD or a Range, and the one that the list gives.
    let own = sent("HEAD http://h/a\n\nGET http://h/b\nRange: bytes=0-9\n\nGET http://h/c\nAccept-Encoding: br\n");
    let encodings: Vec<_> =
        own.requests.iter().map(|request| request.header("accept-encoding").map(Text::to_display)).collect();
    assert_eq!(encodings, [None, None, Some("br".to_owned())]);
}

#[test]
fn unset_variables_of_a_list_of_urls_are_named() {
    assert_eq!(
        read("A = b\nhttp://h/$(A)/$(ITEM)\n", "urls.txt", None).unwrap_err().to_string(),
        "urls.txt: line 2: the variable `ITEM` has no value"
    );
}

#[test]
fn curl_sends_one_user_agent_and_files_of_variables_are_noted() {
    let plan = |command: &str| read(command, "f", None).unwrap().remove(0);
    let agent = |command: &str| plan(command).requests[0].header("user-agent").map(Text::to_display);
    assert_eq!(agent("curl -A mine http://h/"), Some("mine".to_owned()));
    assert_eq!(agent("curl -A mine -H 'User-Agent: theirs' http://h/"), Some("theirs".to_owned()));
    assert_eq!(agent("curl -A mine -H 'User-Agent:' http://h/"), None);
    assert!(plan("curl -A '' http://h/").target.omits_header("user-agent"));
    for command in ["curl -d @$F http://h/", "curl -T $F http://h/a", "curl -F x=@$F http://h/"] {
        let plan = plan(command);
        assert!(has(&plan, "the name of the file depends on `$F`"), "{command}: {:?}", plan.notes());
        let set = with(command, &[("F", "body.json")]).unwrap().remove(0);
        assert!(!has(&set, "depends on"), "{command}: {:?}", set.notes());
    }
}
