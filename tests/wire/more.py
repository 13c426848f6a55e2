"""Postman collections, curl commands, Artillery scripts and browser recordings, as rows like those of `plans.py`."""

import json

from jmx import PORT
from plans import EQUAL, noted, refused, timed
from server import Request

POSTMAN, CURL, ARTILLERY, HAR = [], [], [], []
SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"


def postman(name, *requests, expected=EQUAL, variables=(), auth=None, **options):
    items = [{"name": f"r{at}", "request": request} if "request" not in request else request for at, request in enumerate(requests)]
    collection = {"info": {"name": "c", "schema": SCHEMA}, "item": items, "variable": [{"key": key, "value": value} for key, value in variables]}
    if auth:
        collection["auth"] = auth
    POSTMAN.append((name, json.dumps(collection, indent=1), expected, options))


def request(path, method="GET", host="127.0.0.1:" + PORT, body=None, headers=(), query=None, auth=None):
    raw = f"http://{host}{path}"
    url = raw if query is None else {
        "raw": raw + "?" + "&".join(f"{key}={value}" for key, value, *_ in query), "protocol": "http", "host": [host.split(":")[0]], "port": PORT,
        "path": path.strip("/").split("/"), "query": [{"key": key, "value": value} | ({"disabled": True} if off else {}) for key, value, *off in query]}
    own = {"method": method, "url": url, "header": [{"key": key, "value": value} for key, value in headers]}
    return own | ({"body": body} if body else {}) | ({"auth": auth} if auth else {})


def text(raw, language=None):
    return {"mode": "raw", "raw": raw} | ({"options": {"raw": {"language": language}}} if language else {})


def fields(mode, *pairs):
    return {"mode": mode, mode: [{"key": key, "value": value, "type": "text"} for key, value in pairs]}


postman("get", request("/a"))
postman("get_query", request("/a", query=[("x", "a b"), ("y", "1")]))
postman("get_query_disabled", request("/a", query=[("x", "1"), ("y", "2", True)]))
postman("get_with_body", request("/a", body=text("pruned")))
postman("get_encoded", request("/a%20b?x=%26"))
postman("get_blank", request("/a b?x=c d"))
postman("get_fragment", request("/a#part"))
postman("post_raw", request("/f", "POST", body=text("plain")))
postman("post_json", request("/f", "POST", body=text('{"a": 1}', "json")))
postman("post_json_typed", request("/f", "POST", body=text('{"a": 1}', "json"), headers=[("Content-Type", "application/vnd.x+json")]))
postman("post_xml", request("/f", "POST", body=text("<a/>", "xml")))
postman("post_urlencoded", request("/f", "POST", body=fields("urlencoded", ("x", "a b&c"), ("y", ""))))
postman("post_urlencoded_twice", request("/f", "POST", body=fields("urlencoded", ("x", "1"), ("x", "2"))))
postman("post_multipart", request("/f", "POST", body=fields("formdata", ("x", "a b"), ("y", "2"))))
postman("post_empty", request("/f", "POST"))
postman("delete_raw", request("/f", "DELETE", body=text("x")))
postman("put_json", request("/f", "PUT", body=text('{"a": "{{v}}"}', "json")), variables=[("v", 'q"')])
postman("headers", request("/a", headers=[("X-A", "1"), ("Accept", "text/html")]))
postman("header_user_agent", request("/a", headers=[("User-Agent", "mine")]))
postman("variable_path", request("/a/{{v}}?x={{v}}"), variables=[("v", "a b")])
postman("auth_basic", request("/a", auth={"type": "basic", "basic": [{"key": "username", "value": "me"}, {"key": "password", "value": "pw"}]}))
postman("auth_bearer", request("/a"), auth={"type": "bearer", "bearer": [{"key": "token", "value": "t"}]})
postman("auth_key", request("/a"), auth={"type": "apikey", "apikey": [{"key": "key", "value": "X-Key"}, {"key": "value", "value": "k"}, {"key": "in", "value": "header"}]})
postman("auth_key_query", request("/a"), auth={"type": "apikey", "apikey": [{"key": "key", "value": "key"}, {"key": "value", "value": "k"}, {"key": "in", "value": "query"}]})
postman("redirect", request("/r302?to=/landed"))
postman("redirect_post", request("/r302?to=/landed", "POST", body=text("x")))
postman("redirect_not", {"name": "f", "request": request("/r302?to=/landed"), "protocolProfileBehavior": {"followRedirects": False}}, request("/r302?to=/landed"))
postman("cookies", request("/set?sid=1"), request("/a"))
postman("folder", {"name": "f", "request": request("/a")}, request("/b"))
postman("random", request("/a?x={{$guid}}"), mask=r"[0-9a-f]{8}-[0-9a-f-]{27}")
postman("unset", request("/a?x={{nope}}"), expected=noted("nope"))


def curl(name, command, expected=EQUAL, **options):
    CURL.append((name, command.replace("URL", "http://127.0.0.1:" + PORT) + "\n", expected, options))


curl("get", "curl URL/a")
curl("get_query", "curl 'URL/a?x=1&y=a%20b'")
curl("get_fragment", "curl 'URL/a#part'")
curl("get_dots", "curl URL/a/../b")
curl("get_dots_as_is", "curl --path-as-is URL/a/../b")
curl("get_no_accept", "curl -H 'Accept:' URL/a")
curl("get_empty_header", "curl -H 'X-A;' URL/a")
curl("get_no_user_agent", "curl -H 'User-Agent:' URL/a")
curl("get_data", "curl -G -d x=1 --data-urlencode 'y=a b&c' URL/a")
curl("get_data_query", "curl -G -d x=1 'URL/a?q=1'")
curl("post_data", "curl -d x=1 -d 'y=a b' URL/f")
curl("post_data_lines", "curl -d @data.txt URL/f", noted("removes line breaks"), files={"data.txt": "one\ntwo\n"})
curl("post_binary", "curl --data-binary @data.txt URL/f", files={"data.txt": "one\ntwo\n"})
curl("post_raw", "curl --data-raw '@x&y' URL/f")
curl("post_urlencode", "curl --data-urlencode 'a b&c' --data-urlencode '=x y' --data-urlencode 'n=1 2' URL/f")
curl("post_json", "curl --json '{\"a\": 1}' URL/f")
curl("post_typed", "curl -H 'Content-Type: application/json' -d '{\"a\": 1}' URL/f")
curl("post_untyped", "curl -H 'Content-Type:' -d x URL/f")
curl("post_form", "curl -F x=1 -F 'y=a b;type=text/plain' URL/f")
curl("post_form_file", "curl -F f=@data.txt URL/f", files={"data.txt": "hello\n"})
curl("put", "curl -X PUT -d x URL/f")
curl("upload", "curl -T data.txt URL/f", noted("Expect: 100-continue"), files={"data.txt": "hello\n"})
curl("delete", "curl -X DELETE URL/f")
curl("head", "curl -I URL/a")
curl("post_empty", "curl -X POST URL/f", noted("no Content-Length"))
curl("basic", "curl -u me:pw URL/a")
curl("basic_in_url", f"curl http://me:pw@127.0.0.1:{PORT}/a")
curl("basic_in_url_variable", f"U=me\nP=p+w\ncurl http://$U:$P@127.0.0.1:{PORT}/a")
curl("bearer", "curl --oauth2-bearer t URL/a")
curl("agent", "curl -A mine -e URL/x URL/a")
curl("cookie", "curl -b 'a=1; b=2' URL/a")
curl("compressed", "curl --compressed URL/a")
curl("http2", "curl --http2 URL/a", noted("change to HTTP/2"))
curl("redirect", "curl -L 'URL/r302?to=/landed'")
curl("redirect_post", "curl -L -d x=1 'URL/r302?to=/landed'")
curl("redirect_not", "curl 'URL/r302?to=/landed'")
curl("redirect_mixed", "curl 'URL/r302?to=/landed'\ncurl -L 'URL/r302?to=/landed'\ncurl -L --max-redirs 1 'URL/r302?to=/r302?to=/landed'")
curl("cookies_mixed", "curl -c jar 'URL/set?sid=1'\ncurl URL/a\ncurl -b jar URL/b", noted("only some commands keep cookies"))
curl("two_urls", "curl URL/a URL/b")
curl("next", "curl -d x=1 URL/a --next URL/b")
curl("globbed", "curl 'URL/a[1-3]'", noted("expands braces and brackets"))
curl("two_commands", "curl URL/a\ncurl URL/b")


def artillery(name, *flow, expected=EQUAL, files=None, scenario=None, mask=None, unordered=False, **config):
    """A script with one session; `scenario` has further keys of its scenario, and `config` those of the script."""
    config = {"target": "http://127.0.0.1:" + PORT, "phases": [{"duration": 1, "arrivalCount": 1}]} | config
    script = {"config": config, "scenarios": [{"flow": list(flow)} | (scenario or {})]}
    ARTILLERY.append((name, json.dumps(script, indent=1), expected, {"files": files or {}, "mask": mask, "unordered": unordered}))


def step(url, method="get", **more):
    return {method: {"url": url} | more}


artillery("get", step("/a"))
artillery("get_query", step("/a?x=1&y=a%20b"))
artillery("get_qs", step("/a", qs={"x": "a b&c", "y": 1}))
artillery("get_qs_replaces", step("/a?z=9", qs={"x": "1"}))
artillery("get_blank", step("/a b?x=c d"))
artillery("get_encoded", step("/a%20b/%C3%A9?x=%26"))
artillery("get_unicode", step("/ä?x=é"))
artillery("get_fragment", step("/a#part"))
artillery("get_absolute", step(f"http://127.0.0.1:{PORT}/a"))
artillery("get_headers", step("/a", headers={"X-A": "1", "Accept": "text/html"}))
artillery("get_user_agent", step("/a", headers={"User-Agent": "mine"}))
artillery("get_default_headers", step("/a", headers={"X-A": "own"}), http={"defaults": {"headers": {"X-A": "1", "X-B": "2"}}})
artillery("get_gzip", step("/a", gzip=True))
artillery("get_target_path", step("/a"), target=f"http://127.0.0.1:{PORT}/api")
artillery("head", step("/a", "head"))
artillery("options", step("/a", "options"))
artillery("delete", step("/a", "delete"))
artillery("delete_json", step("/a", "delete", json={"a": 1}))
artillery("post_json", step("/f", "post", json={"a": 1, "b": [True, None, 1.5], "c": "q\"é"}))
artillery("post_json_typed", step("/f", "post", json={"a": 1}, headers={"Content-Type": "application/vnd.x+json"}))
artillery("post_json_list", step("/f", "post", json=[1, {"a": "b"}]))
artillery("post_body", step("/f", "post", body="plain é"))
artillery("post_body_typed", step("/f", "post", body="<a/>", headers={"Content-Type": "text/xml"}))
artillery("post_form", step("/f", "post", form={"x": "a b&c", "y": ""}))
artillery("post_form_data", step("/f", "post", formData={"x": "a b", "y": 2}))
artillery("post_empty", step("/f", "post"))
artillery("put_json", step("/f", "put", json={"a": "b"}))
artillery("patch_json", step("/f", "patch", json={"a": "b"}))
artillery("variables", step("/{{ v }}?x={{ v }}", headers={"X-A": "{{ v }}"}), step("/f", "post", json={"{{ v }}": "{{ v }}", "n": "{{ n }}"}), variables={"v": "tea", "n": 7})
artillery("variable_unset", step("/a?x={{ nope }}"), expected=timed("nope"))
artillery("variable_encoded", step("/a/{{ v }}?x={{ v }}"), variables={"v": "a b"})
artillery("variable_in_form", step("/f", "post", form={"x": "{{ v }}"}), variables={"v": "a b&c"})
artillery("payload", step("/{{ a }}/{{ b }}"), payload={"path": "rows.csv", "fields": ["a", "b"], "order": "sequence"}, files={"rows.csv": "u1,p1\nu2,p2\n"})
artillery("payload_header", step("/{{ a }}"), payload={"path": "rows.csv", "fields": ["a"], "order": "sequence", "skipHeader": True}, files={"rows.csv": "a\nu1\n"})
artillery("random_number", step("/a?x={{ $randomNumber(1, 9) }}"), mask="x=[1-9]")
artillery("random_string", step("/a?x={{ $randomString(8) }}"), mask="x=[0-9A-Za-z]{8}")
artillery("capture_json", step("/json", capture={"json": "$.token", "as": "t"}), step("/a?t={{ t }}"))
artillery("capture_json_number", step("/json", capture={"json": "$.n", "as": "n"}), step("/a?n={{ n }}"))
artillery("capture_json_in_body", step("/json", capture={"json": "$.token", "as": "t"}), step("/f", "post", json={"t": "{{ t }}"}))
artillery("capture_number_in_json", step("/json", capture={"json": "$.n", "as": "n"}), step("/f", "post", json={"n": "{{ n }}"}), expected=noted("keeps its type"))
artillery("capture_regexp", step("/page", capture={"regexp": "name=\"csrf\" value=\"(\\w+)\"", "group": 1, "as": "t"}), step("/a?t={{ t }}"))
artillery("capture_header", step("/page", capture={"header": "x-token", "as": "t"}), step("/a?t={{ t }}"))
artillery("capture_selector", step("/page", capture={"selector": "input[name=csrf]", "attr": "value", "as": "t"}), step("/a?t={{ t }}"))
artillery("capture_fails", step("/json", capture={"json": "$.nope", "as": "t"}), step("/a?t={{ t }}"))
artillery("capture_fails_lenient", step("/json", capture={"json": "$.nope", "as": "t", "strict": False}), step("/a?t={{ t }}"))
artillery("capture_fails_regexp", step("/page", capture={"regexp": "nope=(.)", "group": 1, "as": "t", "strict": False}), step("/a?t={{ t }}"))
artillery("capture_fails_header", step("/page", capture={"header": "x-nope", "as": "t", "strict": False}), step("/a?t={{ t }}"))
artillery("capture_fails_selector", step("/page", capture={"selector": "b", "attr": "value", "as": "t", "strict": False}), step("/a?t={{ t }}"))
artillery("capture_fails_by_default", step("/json", capture={"json": "$.nope", "as": "t"}), step("/a?t={{ t }}"), http={"defaults": {"strictCapture": False}})
artillery("match", step("/json", match={"json": "$.token", "value": "t-1"}), step("/a"))
artillery("match_fails", step("/json", match={"json": "$.token", "value": "t-2"}), step("/a"))
artillery("status_500", step("/status/500"), step("/a"))
artillery("status_404", step("/status/404"), step("/a"))
artillery("loop_count", {"loop": [step("/a"), step("/b")], "count": 3})
artillery("loop_number", {"loop": [step("/a?n={{ $loopCount }}")], "count": 3})
artillery("loop_range", {"loop": [step("/a?n={{ $loopCount }}")], "count": "2-5"})
artillery("loop_over", {"loop": [step("/a/{{ $loopElement }}")], "over": ["x", "y"]})
artillery("loop_nested", {"loop": [step("/a"), {"loop": [step("/b")], "count": 2}], "count": 2})
artillery("think", step("/a"), {"think": 0.1}, step("/b"))
artillery("if_captured", step("/json", capture={"json": "$.n", "as": "n"}), step("/a", ifTrue="n == 5"), step("/b", ifTrue="n > 5"))
artillery("if_constant", step("/a", ifTrue="v == 'tea'"), step("/b", ifTrue="v == 'rum'"), variables={"v": "tea"})
artillery("cookies", step("/set?sid=1"), step("/a"))
artillery("cookie_own", step("/a", cookie={"a": "1"}), step("/b"), expected=timed("only this request sends it"))
artillery("cookie_own_kept", step("/set?sid=1"), step("/a", cookie={"a": "1"}), step("/b"), expected=noted("only this request sends it"))
artillery("cookie_default", step("/a"), step("/b"), http={"defaults": {"cookie": {"a": "1"}}})
artillery("redirect", step("/r302?to=/landed"))
artillery("redirect_post", step("/r302?to=/landed", "post", json={"a": 1}), expected=noted("repeats a POST"))
artillery("redirect_303", step("/r303?to=/landed", "post", json={"a": 1}), expected=noted("Content-Type after 303"))
artillery("redirect_307", step("/r307?to=/landed", "post", json={"a": 1}))
artillery("redirect_put", step("/r302?to=/landed", "put", json={"a": 1}))
artillery("redirect_not", step("/r302?to=/landed", followRedirect=False), step("/r302?to=/landed"))
artillery("auth", step("/a", auth={"user": "me", "pass": "p:w"}))
artillery("log", {"log": "hello"}, step("/a"))
artillery("function", {"function": "make"}, step("/a?v={{ v }}"), expected=noted("runs the function make"), processor="./own.js",
          files={"own.js": "module.exports = { make: (context, events, done) => { context.vars.v = 1; return done(); } };\n"})
artillery("before_request", step("/a", headers={"X-A": "1"}, beforeRequest="sign"), expected=noted("runs the function sign"), processor="./own.js",
          files={"own.js": "module.exports = { sign: (request, context, events, done) => { request.headers['X-Sign'] = '1'; return done(); } };\n"})
artillery("parallel", {"parallel": [step("/a"), step("/b")]}, unordered=True)
artillery("engine_ws", {"send": "x"}, expected=refused("engines: ws"), scenario={"engine": "ws"})


def entry(path, method="GET", status=200, kind="text/html", headers=(), data=None, at=0, to="", host="127.0.0.1:" + PORT, **more):
    """An entry of a recording; `at` is its start in seconds, `data` its text or its fields."""
    own = [("Host", host), ("User-Agent", "Mozilla/5.0"), ("Accept", "*/*"), ("Connection", "keep-alive"), *headers]
    request = {"method": method, "url": f"http://{host}{path}", "httpVersion": "HTTP/1.1"}
    if data is not None:
        media = next(value for name, value in own if name == "Content-Type")
        own.append(("Content-Length", str(len(data))))
        request["postData"] = {"mimeType": media, "text": data}
    request["headers"] = [{"name": name, "value": value} for name, value in own]
    return {"startedDateTime": f"2026-05-01T10:00:{at:06.3f}Z", "time": 10, "request": request,
            "response": {"status": status, "redirectURL": to, "headers": [], "content": {"mimeType": kind}}} | more


def har(name, *entries, expected=EQUAL, **options):
    """A recording; it must be sent as it is, and `expected` says what is not."""
    def recorded(entry):
        request = entry["request"]
        headers = [(pair["name"], pair["value"]) for pair in request["headers"]]
        path = "/" + request["url"].split("#")[0].split("/", 3)[3]
        return Request(0, request["method"], path, headers, request.get("postData", {}).get("text", "").encode())
    HAR.append((name, json.dumps({"log": {"version": "1.2", "entries": entries}}, indent=1), expected,
                {"recorded": [recorded(each) for each in entries]} | options))


TYPED = [("Content-Type", "application/json")]
FORM = [("Content-Type", "application/x-www-form-urlencoded")]
har("get", entry("/a"))
har("get_query", entry("/a?x=1&y=a%20b&z=%2F"))
har("get_unencoded", entry("/a?x=[1]|{2}"))
har("get_fragment", entry("/a#part"))
har("headers", entry("/a", headers=[("X-A", "1"), ("Referer", "http://shop.example/"), ("Accept-Language", "en")]))
har("pages", entry("/a"), entry("/b", at=2), entry("/c", at=4))
har("objects", entry("/page"), entry("/logo.png", kind="image/png", at=0.1), entry("/a.css", kind="text/css", at=0.1), unordered=True)
har("object_headers", entry("/page"), entry("/logo.png", kind="image/png", at=0.1, headers=[("Referer", "http://shop.example/")]), expected=noted("their own headers"))
har("object_404", entry("/page"), entry("/status/404", status=404, kind="image/png", at=0.1))
har("calls", entry("/page"), entry("/json", kind="application/json", at=0.1), entry("/json", kind="application/json", at=0.2))
har("post_json", entry("/f", "POST", kind="application/json", headers=TYPED, data='{"a": "{{b}}"}'))
har("post_form", entry("/f", "POST", headers=FORM, data="x=a+b%26c&y="))
har("post_empty", entry("/f", "POST", headers=[("Content-Length", "0")]))
har("put", entry("/f", "PUT", headers=TYPED, data="[1]"))
har("delete", entry("/f", "DELETE"))
har("cookies", entry("/set?sid=1"), entry("/a", at=0.1, headers=[("Cookie", "sid=1")]))
har("redirect", entry("/r302?to=/landed", status=302, to="/landed"), entry("/landed", at=0.1))
har("redirect_post", entry("/r303?to=/landed", "POST", status=303, to="/landed", headers=FORM, data="x=1"), entry("/landed", at=0.1))
har("cached", entry("/a"), entry("/b", at=2, _fromCache="disk"), expected=noted("browser's cache"))
har("validated", entry("/a", status=304, headers=[("If-None-Match", '"e"')]), expected=noted("depends on the state of the recording browser"))
har("blocked", entry("/a"), entry("/b", at=2, status=0), expected=noted("no response (blocked or aborted)"))
har("preflight", entry("/f", "OPTIONS", headers=[("Access-Control-Request-Method", "PUT")]), entry("/f", "PUT", headers=TYPED, data="[1]", at=0.1), expected=noted("CORS preflight"))
har("other_host", entry("/a"), entry("/b", at=2, host="ads.example"), expected=noted("to other hosts: ads.example"))
har("authorization", entry("/a", headers=[("Authorization", "Bearer t")]))
