"""Postman collections and curl commands, as rows like those of `plans.py`."""

import json

from jmx import PORT
from plans import EQUAL, noted, refused

POSTMAN, CURL = [], []
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
curl("redirect", "curl -L 'URL/r302?to=/landed'")
curl("redirect_post", "curl -L -d x=1 'URL/r302?to=/landed'")
curl("redirect_not", "curl 'URL/r302?to=/landed'")
curl("two_urls", "curl URL/a URL/b")
curl("next", "curl -d x=1 URL/a --next URL/b")
curl("globbed", "curl 'URL/a[1-3]'", noted("expands braces and brackets"))
curl("two_commands", "curl URL/a\ncurl URL/b")
