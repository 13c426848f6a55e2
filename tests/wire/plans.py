"""The plans of the comparison: one construct each, as (tool, name, plan, expectation, options).

The expectation says how `offered` may differ: EQUAL (not at all), noted(TEXT) (the import's notes contain TEXT), timed(TEXT) (they contain
TEXT, but the requests are equal) or refused(TEXT) (the import refuses, and its message contains TEXT). Options: `files` beside the plan,
`properties` (JMeter), `mask` (a regular expression whose matches are replaced on both sides, for random values), `set` (variables of
offered), `unordered` (the order of the requests does not matter) and `recorded` (the requests of a recording, which no tool sends).
"""

from jmx import *

EQUAL = ("equal", "")


def noted(text):
    return ("noted", text)


def timed(text):
    """The same requests, perhaps at other times, and a note."""
    return ("timed", text)


def refused(text):
    return ("refused", text)


JMETER = []


def jmeter(name, text, expected=EQUAL, **options):
    JMETER.append((name, text, expected, options))


def one(name, sampler, expected=EQUAL, loops=1, threads=1, **options):
    """A plan of one group with this content."""
    own = options.pop("variables", ())
    jmeter(name, plan(group(sampler, loops=loops, threads=threads), variables=own), expected, **options)


PAIRS = "u1,p1\nu2,p2\nu3,p3\n"
HTML = extract_regex("tok", r"name=\"csrf\" value=\"(\w+)\"")

# Requests.
one("get", http("/a"))
one("get_query", http("/a?x=1&y=2"))
one("get_arguments", http("/a", args=[("x", "a b&c=d/é"), ("y", "")]))
one("get_arguments_unencoded", http("/a", args=[("x", "a%20b&c=d", False)]))
one("get_argument_empty", http("/a", args=[("", "")]))
one("get_argument_unnamed", http("/a", args=[("", "body")]))
one("get_argument_without_equals", http("/a", args=[("x", "", True, "")]))
one("get_argument_value_without_equals", http("/a", args=[("x", "1", True, "")]))
one("get_argument_without_metadata", http("/a", args=[("x", "1", True, None)]))
one("get_path_and_arguments", http("/a?x=1", args=[("y", "2")]))
one("get_fragment", http("/a#part"))
one("get_query_and_fragment", http("/a?x=1#part"))
one("get_fragment_and_arguments", http("/a#part", args=[("x", "1")]))
one("get_encoded_path", http("/a%20b/%C3%A9"))
one("get_blank_in_path", http("/a b"))
one("get_brace_in_path", http("/a{b}") + http("/z"), noted("does not send"))
one("get_unicode_path", http("/ä"))
one("get_path_without_slash", http("a"))
one("get_empty_path", http(""))
one("get_dots", http("/a/../b/./c"))
one("get_raw_body", http("/a", body="text"))
one("post_form", http("/f", "POST", [("x", "a b&c=d"), ("y", "é")]))
one("post_form_unencoded", http("/f", "POST", [("x", "a&b=c#d", False)]))
one("post_form_decoded", http("/f", "POST", [("x", "a%26b+c", False)]))
one("post_form_variable", http("/f", "POST", [("x", "${v}", False)]), variables=[("v", "1&2=3")])
one("post_form_csv", csv() + http("/f", "POST", [("x", "${a}", False)]), noted("known at run time"), loops=2, files={"data.csv": "1&2,z\na%26b,z\n"})
one("post_form_csv_encoded", csv() + http("/f", "POST", [("x", "${a}")]), loops=2, files={"data.csv": "1&2,z\na%26b+c,z\n"})
one("post_form_invalid", http("/f", "POST", [("x", "100%", False)]) + http("/z"), noted("does not send the request"))
one("post_form_repeated", http("/f", "POST", [("x", "1"), ("x", "2")]))
one("post_form_empty_value", http("/f", "POST", [("x", "")]))
one("post_form_without_equals", http("/f", "POST", [("x", "", True, "")]))
one("post_unnamed", http("/f", "POST", [("", "raw & text", False)]))
one("post_unnamed_encoded", http("/f", "POST", [("", "raw & text")]))
one("post_two_unnamed", http("/f", "POST", [("", "one", False), ("", "two", False)]))
one("post_empty_argument", http("/f", "POST", [("", "")]))
one("post_mixed_names", http("/f", "POST", [("", "skipped"), ("x", "1")]))
one("post_nothing", http("/f", "POST"))
one("post_raw", http("/f", "POST", body='{"a": "b c"}'))
one("post_raw_lines", http("/f", "POST", body="one\ntwo\n"))
one("post_raw_typed", headers(("Content-Type", "application/json")) + http("/f", "POST", body='{"a": 1}'))
one("post_raw_variable", headers(("Content-Type", "application/json")) + http("/f", "POST", body='{"a": "${v}"}'), variables=[("v", 'q"b')])
one("post_raw_csv", headers(("Content-Type", "application/json")) + csv() + http("/f", "POST", body='{"a": "${a}", "b": {{}}}'), files={"data.csv": 'x\\y,2\n'})
one("post_form_typed", headers(("Content-Type", "text/plain")) + http("/f", "POST", [("x", "a b")]))
one("post_query_and_form", http("/f?q=1", "POST", [("x", "2")]))
one("post_encoding", http("/f", "POST", [("x", "é")], contentEncoding="ISO-8859-1"), noted("ISO-8859-1"))
one("post_encoding_utf8", http("/f", "POST", [("x", "é")], contentEncoding="utf8") + http("/g", "POST", body="é", contentEncoding="utf8"))
one("put_raw", http("/f", "PUT", body="text"))
one("put_form", http("/f", "PUT", [("x", "a b")]))
one("put_nothing", http("/f", "PUT"))
one("patch_form", http("/f", "PATCH", [("x", "a b")]))
one("delete_arguments", http("/f", "DELETE", [("x", "a b")]))
one("delete_raw", http("/f", "DELETE", body='{"a": 1}'))
one("head_arguments", http("/f", "HEAD", [("x", "1")]))
one("options_arguments", http("/f", "OPTIONS", [("x", "1")]))
one("trace", http("/f", "TRACE"))
one("multipart", http("/f", "POST", [("x", "a b"), ("y", "2")], DO_MULTIPART_POST=True), noted("Content-Transfer-Encoding"))
one("multipart_file", http("/f", "POST", [("x", "1")], files=[("note.txt", "upload", "text/plain")]), noted("Content-Transfer-Encoding"), files={"note.txt": "hello\n"})
one("file_as_body", http("/f", "PUT", files=[("note.txt", "", "text/plain")]), files={"note.txt": "hello\n"})
one("file_as_post_body", http("/f", "POST", files=[("note.txt", "", "")]), files={"note.txt": "hello\n"})
one("no_keepalive", http("/a", use_keepalive=False) + http("/b", use_keepalive=False))
one("unset_keepalive", http("/a", use_keepalive=None) + http("/b", use_keepalive=None))
one("unset_redirects", http("/r302?to=/landed", follow_redirects=None, auto_redirects=None))
one("some_keepalive", http("/a") + http("/b", use_keepalive=False), noted("keep"))
one("two_servers", http("/a") + http("/b", host="localhost") + http("/c"))
one("two_servers_cookies", cookies() + http("/set?sid=1") + http("/set?sid=2", host="localhost") + http("/a") + http("/b", host="localhost"))
jmeter("two_servers_groups", plan(group(http("/a"), name="one"), group(http("/b", host="localhost"), name="two")))
one("absolute_path", http(f"http://127.0.0.1:{PORT}/a?x=1", host="example.invalid"))
one("absolute_path_arguments", http(f"http://127.0.0.1:{PORT}/a", args=[("x", "1")], host=""))
one("lower_case_method", http("/a", "get"), noted("as it is written"))

# Headers, cookies, logins.
one("headers", headers(("X-A", "1"), ("Accept", "text/html")) + http("/a"))
one("headers_nearer", headers(("X-A", "1"), ("X-B", "1")) + http("/a", children=headers(("x-a", "2"))))
one("headers_below", http("/a") + headers(("X-A", "1")))
one("headers_of_controller", controller("GenericController", headers(("X-A", "1")) + http("/a")) + http("/b"))
one("header_host", headers(("Host", "shop.example")) + http("/a"))
one("header_empty", headers(("X-A", "")) + http("/a"))
one("header_length", headers(("Content-Length", "7")) + http("/f", "POST", body="text"))
one("header_connection", headers(("Connection", "close")) + http("/a"), noted("Connection"))
one("header_user_agent", headers(("User-Agent", "Mozilla/5.0")) + http("/a"))
one("header_cookie", headers(("Cookie", "a=1")) + http("/a"))
one("header_variable", headers(("Authorization", "Bearer ${t}")) + http("/a"), variables=[("t", "abc")])
one("header_twice", headers(("X-A", "1"), ("X-A", "2")) + http("/a"), noted("has the header `X-A` several times"))
one("cookies", cookies() + http("/set?sid=1") + http("/a") + http("/set?sid=2") + http("/b"))
one("cookies_none", http("/set?sid=1") + http("/a"))
one("cookies_static", cookies([("lang", "de")]) + http("/a") + http("/set?sid=1") + http("/b"), noted("starts with the cookie"))
one("cookies_next_iteration", cookies(clearEachIteration=False) + http("/a") + http("/set?sid=1"), loops=2)
one("cookies_cleared", cookies(clearEachIteration=True) + http("/a") + http("/set?sid=1"), loops=2)
one("cookies_new_user", cookies(controlledByThreadGroup=True) + http("/a") + http("/set?sid=1"), loops=2)
jmeter("cookies_new_user_group", plan(group(cookies(controlledByThreadGroup=True) + http("/a") + http("/set?sid=1"), loops=2, same_user=False)))
one("login_basic", login(f"http://127.0.0.1:{PORT}/", "me", "secret") + http("/a"))
one("login_digest", login(f"http://127.0.0.1:{PORT}/", "me", "secret", "DIGEST") + http("/digest/a") + http("/digest/b"), noted("nonce"), mask="(?<=^authorization: Digest ).*")
one("login_elsewhere", login(f"http://127.0.0.1:{PORT}/private", "me", "secret") + http("/a") + http("/private/b"))

# Redirects.
one("redirect_followed", http("/r302?to=/landed") + http("/a"))
one("redirect_automatic", http("/r302?to=/landed", follow_redirects=False, auto_redirects=True))
one("redirect_not_followed", http("/r302?to=/landed", follow_redirects=False))
one("redirect_some", http("/r302?to=/landed", follow_redirects=False) + http("/r302?to=/other"))
one("redirect_post", http("/r302?to=/landed", "POST", [("x", "1")]))
one("redirect_303", http("/r303?to=/landed", "POST", [("x", "1")]))
one("redirect_307", http("/r307?to=/landed", "POST", [("x", "1")]), noted("follows 307 and 308 redirects of GET and HEAD only"))
one("redirect_fragment", http("/r302?to=/landed%23part"))
one("redirect_relative", http("/deep/r302?to=landed"))
one("redirect_cookies", cookies() + http("/set?sid=1&to=/landed"))
one("redirect_headers", headers(("X-A", "1")) + http("/r302?to=/landed"))

# Defaults.
one("defaults", defaults() + http("/a", host=""))
one("defaults_path", defaults(path="/base") + http("", host=""))
one("defaults_arguments", defaults([("d", "1")]) + http("/a", args=[("x", "2")], host=""))
one("defaults_same_argument", defaults([("x", "1"), ("y", "1")]) + http("/a", args=[("x", "2")], host=""))
one("defaults_arguments_post", defaults([("d", "1")]) + http("/f", "POST", [("x", "2")], host=""))
one("defaults_arguments_raw", defaults([("d", "1")]) + http("/f", "POST", body="text", host=""))
jmeter("defaults_two", plan(defaults([("p", "1")], host="example.invalid"), group(defaults([("g", "2")]) + http("/a", host=""))))

# Variables and data.
one("variables", variables(("v", "1"), ("w", "a b")) + http("/a?v=${v}", args=[("w", "${w}")]))
one("variable_of_itself", variables(("v", "${v}")) + http("/a?v=1") + http("/b", "POST", body="${v}"))
one("variable_of_variable", variables(("v", "1")) + variables(("w", "x${v}")) + http("/a?w=${w}"))
one("variable_of_variable_in_path", variables(("v", "1"), ("w", "x${v}")) + http("/a?w=${w}") + http("/z"), noted("`${v}` has no known value"))
jmeter("variable_of_plan_variable", plan(group(variables(("w", "x${v}")) + http("/a?w=${w}")), variables=[("v", "1")]))
one("variable_in_same_element", variables(("w", "x${v}"), ("v", "1")) + http("/a", "POST", body="${w}"))
one("variable_overridden", variables(("v", "1")) + variables(("v", "2")) + http("/a?v=${v}"))
one("unset_in_body", http("/a", "POST", body="${nope}"))
one("unset_in_path", http("/a?x=${nope}") + http("/z"), noted("nope"))
one("property_default", http("/a?x=${__P(size,7)}&y=${__P(none)}"))
one("property_given", http("/a?x=${__P(size,7)}"), properties={"size": "9"})
one("csv", csv() + http("/a?x=${a}&y=${b}"), loops=4, files={"data.csv": PAIRS})
one("csv_names_in_file", csv(names="") + http("/a?x=${user}&y=${pass}"), loops=2, files={"data.csv": "user,pass\n" + PAIRS})
one("csv_quoted_names_in_file", csv(names="", quotedData=True) + http("/a?x=${user}"), loops=2, files={"data.csv": '"user","pass"\n"u,1","p"\nu2,p2\n'})
one("csv_first_line_ignored", csv(ignoreFirstLine=True) + http("/a?x=${a}"), loops=2, files={"data.csv": "user,pass\n" + PAIRS})
one("csv_quoted", csv(quotedData=True) + http("/a", "POST", [("x", "${a}")]), loops=2, files={"data.csv": '"u,""1""",p1\nu2,p2\n'})
one("csv_quotes_as_text", csv() + http("/a", "POST", [("x", "${a}")]), loops=2, files={"data.csv": '"u1",p1\nu2,p2\n'})
one("csv_semicolon", csv(delimiter=";") + http("/a?x=${a}&y=${b}"), loops=2, files={"data.csv": "u1;p1\nu2;p2\n"})
one("csv_tab", csv(delimiter="\\t") + http("/a?x=${a}&y=${b}"), loops=2, files={"data.csv": "u1\tp1\nu2\tp2\n"})
one("csv_more_cells", csv() + http("/a?x=${a}&y=${b}"), loops=2, files={"data.csv": "u1,p1,q1\nu2,p2\n"})
one("csv_fewer_cells", csv() + http("/a?x=${a}&y=${b}"), noted("keeps the earlier one"), loops=2, files={"data.csv": "u1,p1\nu2\n"})
one("csv_blank_lines", csv() + http("/a?x=${a}"), noted("<EOF>"), loops=3, files={"data.csv": "u1,p1\n\nu2,p2\n"})
one("csv_other_extension", csv("data.txt") + http("/a?x=${a}"), loops=2, files={"data.txt": PAIRS})
one("csv_end_stops", csv(recycle=False, stopThread=True) + http("/a?x=${a}"), loops=5, files={"data.csv": PAIRS})
one("csv_end_continues", csv(recycle=False) + http("/a?x=${a}") + http("/z"), noted("<EOF>"), loops=4, files={"data.csv": PAIRS})
one("csv_in_loop", loop(3, csv() + http("/a?x=${a}")), noted("takes a new value each time"), files={"data.csv": PAIRS})
one("csv_of_threads", csv() + http("/a?x=${a}"), threads=3, files={"data.csv": PAIRS})
one("csv_each_thread", csv(shareMode="shareMode.thread") + http("/a?x=${a}"), noted("each thread"), threads=2, files={"data.csv": PAIRS})
jmeter("csv_two_groups", plan(csv() + group(http("/a?x=${a}"), name="one", loops=2) + group(http("/b?x=${a}"), name="two", loops=2)),
       EQUAL, files={"data.csv": "same,p\nsame,p\nother,q\nother,q\n"}, mask="^/[ab](?=[?])")
one("csv_trailing_blank", csv() + http("/a", "POST", [("x", "${a}"), ("y", "${b}")]), loops=2, files={"data.csv": "u1 , p1\r\nu2,p2\r\n"})
one("counter", element("CounterConfig", {"CounterConfig.start": "5", "CounterConfig.incr": "1", "CounterConfig.name": "n"}) + http("/a?n=${n}"), loops=3)
one("counter_step", element("CounterConfig", {"CounterConfig.start": "5", "CounterConfig.incr": "2", "CounterConfig.name": "n"}) + http("/a?n=${n}"), noted("steps of 2"), loops=3)
one("counter_end", element("CounterConfig", {"CounterConfig.start": "1", "CounterConfig.end": "2", "CounterConfig.incr": "1", "CounterConfig.name": "n"}) + http("/a?n=${n}"), noted("starts again after 2"), loops=3)
one("counter_format", element("CounterConfig", {"CounterConfig.start": "1", "CounterConfig.incr": "1", "CounterConfig.name": "n", "CounterConfig.format": "000"}) + http("/a?n=${n}"), noted("formats the number"), loops=2)
one("random_variable", element("RandomVariableConfig", {"variableName": "r", "minimumValue": "10", "maximumValue": "99", "outputFormat": "", "perThread": False, "randomSeed": ""}) + http("/a?r=${r}") + http("/b?r=${r}"), mask=r"(?<=r=)\d\d$")
one("function_counter", http("/a?n=${__counter(FALSE)}") + http("/b?n=${__counter(FALSE)}"), noted("counts its own calls"), loops=2)
one("function_counter_user", http("/a?n=${__counter(TRUE)}") + http("/b"), noted("counts its own calls"), loops=2)
one("function_thread", http("/a?n=${__threadNum}"), threads=2)
one("function_random", http("/a?n=${__Random(10,99)}"), mask=r"(?<=n=)\d\d$")
one("function_uuid", http("/a?n=${__UUID}"), mask=r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
one("function_time", http("/a?n=${__time()}"), mask=r"(?<=n=)\d{13}$")
one("function_time_seconds", http("/a?n=${__time(/1000)}"), mask=r"(?<=n=)\d{10}$")
one("function_random_string", http("/a?n=${__RandomString(6,abc)}"), noted("replace it in the plan"), mask=r"(?<=n=)[abc]{6}$")
one("function_texts_in_arguments", http("/a", args=[("x", "${__urlencode(a b)}", False), ("y", "${__changeCase(ab,UPPER,)}"), ("z", "${__intSum(1,2,3)}")]))
one("function_expressions", http("/a?x=${__jexl3(1+2*3)}&y=${__groovy(7 % 4)}&z=${__jexl3(\"a\" + \"b\")}"))
one("function_expression_variable", http("/a?x=${__jexl3(${n} + 1)}"), variables=[("n", "4")])
one("function_stored", http("/a?x=${__intSum(1,2,sum)}") + http("/b?x=${sum}"))
one("function_v", http("/a?x=${__V(n${i})}"), variables=[("n1", "v"), ("i", "1")])

# Extractors and assertions.
PAGE = http("/page")
JSON = http("/json")
one("regex", http("/page", children=HTML) + http("/a?t=${tok}"))
one("regex_second", http("/json", children=extract_regex("id", r'"id":(\d+)', match="2")) + http("/a?t=${id}"))
one("regex_template", http("/json", children=extract_regex("id", r'"(id)":(\d+)', template="$2$-$1$")) + http("/a", "POST", body="${id}"))
one("regex_template_missing", http("/page", children=extract_regex("t", "(no)(thing)", template="$1$$2$", default="none")) + http("/a?t=${t}"), noted("groups"))
one("regex_groups", http("/json", children=extract_regex("id", r'"(id)":(\d+)', template="$2$")) + http("/a?t=${id}&g=${id_g1}&h=${id_g2}"))
one("regex_groups_missing", http("/json", children=extract_regex("id", r'"(nothing)":(\d+)', template="$2$", default="d")) + http("/a", "POST", body="${id} ${id_g1}"))
one("regex_url", http("/page?x=7", children=extract_regex("t", r"x=(\d)", useHeaders="URL")) + http("/a?t=${t}"))
one("regex_default", http("/page", children=extract_regex("t", "nothing(x)", default="none")) + http("/a?t=${t}"))
one("regex_missing", http("/page", children=extract_regex("t", "nothing(x)")) + http("/a", "POST", body="${t}"))
one("regex_all", http("/json", children=extract_regex("id", r'"id":(\d+)', match="-1")) + http("/a?t=${id_2}&n=${id_matchNr}"))
one("regex_header", http("/page", children=extract_regex("t", r"X-Token: (\w+)", useHeaders="true")) + http("/a?t=${t}"))
one("regex_in_body", http("/page", children=extract_regex("t", r"quote: (.*)")) + http("/a", "POST", body='{"t": "${t}"}'))
one("regex_in_path", http("/page", children=extract_regex("t", r"path: (.*)")) + http("/${t}/x"))
one("regex_in_query", http("/page", children=extract_regex("t", r"blank: (.*)")) + http("/a", args=[("t", "${t}")]))
one("json", http("/json", children=extract_json("t", "$.token")) + http("/a?t=${t}"))
one("json_two", http("/json", children=extract_json("t;n", "$.token;$.n", "1;1", "x;y")) + http("/a?t=${t}&n=${n}"))
one("json_filter", http("/json", children=extract_json("t", "$.list[?(@.id == 2)].name")) + http("/a?t=${t}"))
one("json_default", http("/json", children=extract_json("t", "$.nothing", default="d")) + http("/a?t=${t}"))
one("json_null", http("/json", children=extract_json("t", "$.none", default="d")) + http("/a?t=${t}"))
one("json_all", http("/json", children=extract_json("id", "$.list[*].id", match="-1")) + http("/a?t=${id_2}&n=${id_matchNr}"))
one("json_values", http("/json", children=extract_json("t", "$.flag") + extract_json("f", "$.pi")) + http("/a?t=${t}&f=${f}"))
one("boundary", http("/page", children=element("BoundaryExtractor", {"BoundaryExtractor.refname": "t", "BoundaryExtractor.lboundary": 'value="', "BoundaryExtractor.rboundary": '"', "BoundaryExtractor.match_number": "1", "BoundaryExtractor.useHeaders": "false"})) + http("/a?t=${t}"))
one("css", http("/page", children=element("HtmlExtractor", {"HtmlExtractor.refname": "t", "HtmlExtractor.expr": "input[name=csrf]", "HtmlExtractor.attribute": "value", "HtmlExtractor.match_number": "1"})) + http("/a?t=${t}"))
one("xpath", http("/page", children=element("XPathExtractor", {"XPathExtractor.refname": "t", "XPathExtractor.xpathQuery": "//input/@value", "XPathExtractor.tolerant": True, "XPathExtractor.default": "none"})) + http("/a?t=${t}"), noted("extracts `t`"))
one("extractor_of_group", HTML + http("/page") + http("/a?t=${tok}"))
one("variable_then_extracted", variables(("tok", "start")) + http("/a?t=${tok}") + http("/page", children=HTML) + http("/b?t=${tok}"), loops=2)
one("assertion_empty", element("ResponseAssertion", {"Asserion.test_strings": [], "Assertion.test_field": "Assertion.response_data", "Assertion.test_type": 2})
    + element("DurationAssertion", {"DurationAssertion.duration": ""}) + http("/a") + http("/b"))
one("assertion_passes", http("/a", children=assertion("ok")) + http("/b"))
for error, expected in [("continue", EQUAL), ("startnextloop", EQUAL), ("stopthread", noted("stops the thread after an error")), ("stoptest", EQUAL)]:
    jmeter(f"on_error_{error}", plan(group(http("/a") + http("/status/500") + http("/b"), loops=2, error=error)), expected)
jmeter("on_assertion_startnextloop", plan(group(http("/a", children=assertion("nothing")) + http("/b"), loops=2, error="startnextloop")))

# Controllers.
one("loop", loop(3, http("/a") + http("/b")) + http("/c"))
one("loop_zero", loop(0, http("/a")) + http("/c"))
one("loop_nested", loop(2, http("/a") + loop(2, http("/b"))))
one("loop_variable", loop("${n}", http("/a")), variables=[("n", "2")])
one("once_needed", controller("OnceOnlyController", http("/page", children=HTML)) + http("/a?t=${tok}"), loops=3)
one("once_unneeded", controller("OnceOnlyController", http("/login")) + http("/a"), loops=3)
one("once_one_iteration", controller("OnceOnlyController", http("/login")) + http("/a"))
one("once_and_data", csv() + controller("OnceOnlyController", http("/login?x=${a}")) + http("/a?x=${a}"), loops=3, files={"data.csv": PAIRS})
one("once_in_simple_controller", controller("GenericController", controller("OnceOnlyController", http("/login")) + http("/a")) + http("/b"), loops=2)
one("once_later", http("/a") + controller("OnceOnlyController", http("/login")) + http("/b"), noted("here they are sent before the others"), loops=2)
one("once_of_threads", controller("OnceOnlyController", http("/page", children=HTML)) + http("/a?t=${tok}"), loops=2, threads=3)
one("once_only", controller("OnceOnlyController", http("/login")), loops=2, threads=2)
one("once_in_loop", loop(2, controller("OnceOnlyController", http("/login")) + http("/a")))
SIMPLE_ONCE = controller("GenericController", controller("OnceOnlyController", http("/login")) + http("/a"))
one("once_below_simple", SIMPLE_ONCE + http("/z"), loops=3)
one("once_below_simple_in_loop", loop(2, loop(2, SIMPLE_ONCE) + http("/b")) + http("/z"))
one("once_in_nested_loop", loop(2, loop(2, controller("OnceOnlyController", http("/login")) + http("/a"))) + http("/z"))
one("loop_long", loop(15, http("/a") + http("/b")) + http("/z"))
one("if_constant", when("${__jexl3(1 < 2)}", http("/yes")) + when("${__jexl3(1 > 2)}", http("/no")) + http("/a"))
one("if_script", when('"${v}" == "1"', http("/yes"), False) + http("/a"), variables=[("v", "1")])
one("if_extracted_true", http("/json", children=extract_json("n", "$.n")) + when('${__jexl3("${n}" == "5")}', http("/yes")) + http("/z"))
one("if_extracted_false", http("/json", children=extract_json("n", "$.n")) + when('${__jexl3("${n}" == "6")}', http("/yes") + http("/more")) + http("/z"))
one("if_extracted_number", http("/json", children=extract_json("n", "$.n")) + when('${__groovy(${n} > 3)}', http("/yes")) + when('${__jexl3(${n} > 30)}', http("/no")) + http("/z"))
one("if_last_ok", http("/status/500") + when("${JMeterThread.last_sample_ok}", http("/yes")) + http("/z"))
one("if_csv", csv() + http("/first") + when('${__jexl3("${b}" == "p2")}', http("/yes?x=${a}")) + http("/z"), loops=3, files={"data.csv": PAIRS})
one("if_first", when('${__jexl3("${a}" == "u1")}', http("/yes")) + http("/z") + csv(), noted("begins an iteration with a condition"), loops=2, files={"data.csv": PAIRS})
NUMBER = http("/json", children=extract_json("n", "$.n"))
VALUES = http("/json", children=extract_json("n;pi;t", "$.n;$.pi;$.token", "1;1;1", "x;y;z"))
for name, condition, holds in [
    ("if_and", '${__jexl3("${n}" == "5" && ${pi} > 3)}', True), ("if_and_not", '${__jexl3(${n} > 5 && ${pi} > 3)}', False),
    ("if_or", '${__groovy(vars.get("t") == "x" || vars.get("t").startsWith("t-"))}', True), ("if_or_not", '${__groovy(vars.get("t") == "x" || vars.get("t").contains("y"))}', False),
    ("if_words", '${__jexl3(${n} ge 5 and (${pi} lt 3 or ${pi} gt 3.05))}', True), ("if_negated", '${__groovy(!(vars.get("n").toInteger() > 4))}', False),
    ("if_fraction", '${__jexl3(${pi} > 3.1)}', False), ("if_reversed", '${__jexl3(3 < ${pi})}', True),
]:
    one(name, VALUES + when(condition, http("/yes") + http("/more")) + http("/z"))
one("if_script_and", VALUES + when('"${n}" == "5" && ${pi} <= 3.1', http("/yes"), False) + http("/z"))
one("if_within_if", VALUES + when("${__jexl3(${n} == 5)}", http("/yes") + when("${__jexl3(${pi} > 4)}", http("/no") + http("/no")) + http("/more")) + http("/z"))
one("if_changes_its_value", VALUES + when("${__jexl3(${n} == 5)}", http("/page", children=extract_regex("n", "nothing(x)", default="6")) + http("/still")) + http("/z"))
for name, function in [("jexl_sum", "${__jexl3(${n} + 1)}"), ("groovy_product", "${__groovy(vars.get('n').toInteger() * 2 - 1)}"), ("groovy_text", "${__groovy(vars.get('t') + '-' + vars.get('n'))}"),
                       ("int_sum", "${__intSum(${n},2,-1)}"), ("uppercase", "${__changeCase(${t},UPPER)}")]:
    one(f"computed_{name}", VALUES + http("/a", args=[("x", function)]))
one("function_of_a_plugin", http("/a", args=[("x", "${__uppercase(ab)}")]), noted("Custom JMeter Functions"))
one("if_text_and_number", NUMBER + when('${__jexl3("${n}" == 5)}', http("/yes")) + when('${__jexl3("${n}" == 6)}', http("/no")) + http("/z"))
one("if_order_of_texts", NUMBER + when('${__jexl3("${n}" > "30")}', http("/yes")) + http("/z"))
one("if_groovy_text_and_number", NUMBER + when('${__groovy(vars.get("n") == 5)}', http("/no")) + http("/z"), noted("only if a condition holds"))
one("if_sets_value", http("/status/500") + when("${JMeterThread.last_sample_ok}", http("/json", children=extract_json("t", "$.token"))) + http("/a", "POST", body="${t}"))
one("while_flag", http("/first") + element("WhileController", {"WhileController.condition": "${go}"}, http("/a", children=extract_regex("go", "nothing(x)", default="false")))
    + http("/z"), variables=[("go", "yes")])
one("while_last_after_failure", http("/status/500") + element("WhileController", {"WhileController.condition": "LAST"}, http("/a")) + http("/z"))
one("while_false", element("WhileController", {"WhileController.condition": "false"}, http("/a")) + http("/z"))
one("while_status", element("WhileController", {"WhileController.condition": '${__jexl3("${ready}" != "yes")}'},
                            http("/poll?k=while", children=extract_regex("ready", "ready=(\\w+)", default="no"))) + http("/z"), variables=[("ready", "no")])
one("while_several", element("WhileController", {"WhileController.condition": '${__jexl3("${ready}" != "yes")}'},
                             http("/poll?k=several", children=extract_regex("ready", "ready=(\\w+)", default="no")) + http("/a") + http("/b")) + http("/z"), variables=[("ready", "no")])
one("while_several_once", element("WhileController", {"WhileController.condition": '${__jexl3("${ready}" != "yes")}'},
                                  controller("OnceOnlyController", http("/login")) + http("/poll?k=once", children=extract_regex("ready", "ready=(\\w+)", default="no"))) + http("/z"), variables=[("ready", "no")])
one("while_last", element("WhileController", {"WhileController.condition": "LAST"}, http("/fails-third?k=last")) + http("/z"))
one("foreach", element("ForeachController", {"ForeachController.inputVal": "v", "ForeachController.returnVal": "x", "ForeachController.useSeparator": True}, http("/a?x=${x}")) + http("/z"),
    variables=[("v_1", "one"), ("v_2", "two")])
one("foreach_range", element("ForeachController", {"ForeachController.inputVal": "v", "ForeachController.returnVal": "x", "ForeachController.useSeparator": False, "ForeachController.startIndex": "1", "ForeachController.endIndex": "3"}, http("/a?x=${x}") + http("/b")),
    variables=[("v1", "one"), ("v2", "two"), ("v3", "three"), ("v4", "four")])
one("foreach_extracted", http("/json", children=extract_json("id", "$.list[*].id", match="-1"))
    + element("ForeachController", {"ForeachController.inputVal": "id", "ForeachController.returnVal": "x", "ForeachController.useSeparator": True}, http("/a?x=${x}")), noted("for each value"))
one("interleave", controller("InterleaveControl", http("/a") + http("/b")) + http("/z"), noted("in turn"), loops=4)
one("random_controller", element("RandomController", {}, http("/a") + http("/b")) + http("/z"), loops=2, mask="^/[ab]$")
one("random_order", element("RandomOrderController", {}, "".join(http(f"/{n}") for n in range(6))) + http("/z"), noted("in random order"))
one("throughput_percent", element("ThroughputController", {"ThroughputController.style": 1, "ThroughputController.perThread": False, "ThroughputController.maxThroughput": 1, "ThroughputController.percentThroughput": "50.0"}, http("/a")) + http("/z"), noted("at random"), loops=4)
one("throughput_total", element("ThroughputController", {"ThroughputController.style": 0, "ThroughputController.perThread": True, "ThroughputController.maxThroughput": 2}, http("/a")) + http("/z"), noted("total number"), loops=4)
one("switch_number", controller("SwitchController", http("/a") + http("/b"), value="1") + http("/z"))
one("switch_name", controller("SwitchController", http("/a") + http("/b"), value="/b") + http("/z"))
one("switch_variable", controller("SwitchController", http("/a") + http("/b"), value="${v}") + http("/z"), variables=[("v", "1")])
one("transaction", element("TransactionController", {"TransactionController.parent": True}, http("/a") + http("/b")) + http("/z"))
one("critical_section", element("CriticalSectionController", {"CriticalSectionController.lockName": "l"}, http("/a")) + http("/z"))
jmeter("module", plan(element("TestFragmentController", {}, http("/part"), name="fragment"),
                      group(element("ModuleController", {"ModuleController.node_path": [prop("1", "Test Plan"), prop("2", "t"), prop("3", "fragment")]}) + http("/z"))))
jmeter("include", plan(group(element("IncludeController", {"IncludeController.includepath": "part.jmx"}) + http("/z"))),
       files={"part.jmx": plan(element("TestFragmentController", {}, http("/part"), name="fragment"))})
one("pause", element("TestAction", {"ActionProcessor.action": 1, "ActionProcessor.target": 0, "ActionProcessor.duration": "20"}) + http("/a"))
one("action_stops_thread", http("/a") + element("TestAction", {"ActionProcessor.action": 0, "ActionProcessor.target": 0}) + http("/b"), noted("stops the thread"), loops=2)
one("action_next_iteration", http("/a") + element("TestAction", {"ActionProcessor.action": 3, "ActionProcessor.target": 0}) + http("/b"), noted("next iteration"), loops=2)
one("action_breaks_loop", loop(3, http("/a") + element("TestAction", {"ActionProcessor.action": 5, "ActionProcessor.target": 0}) + http("/b")) + http("/z"), noted("leaves its loop"))
one("user_parameters", element("UserParameters", {"UserParameters.names": [prop("1", "u")], "UserParameters.thread_values": ['<collectionProp name="1"><stringProp name="1">v1</stringProp></collectionProp>'], "UserParameters.per_iteration": False}) + http("/a", "POST", body="${u}"), noted("its own variables"))
one("script", element("JSR223PreProcessor", {"scriptLanguage": "groovy", "script": "vars.put('v', '1')"}) + http("/a", "POST", body="${v}"), noted("runs a script"))
one("images", http("/page", image_parser=True), noted("embedded resources"))

# Groups.
jmeter("threads", plan(group(http("/a") + http("/b"), threads=3, loops=2)))
jmeter("delayed", plan(group(http("/a"), threads=2, loops=2, scheduler=True, delay="1", duration="10")))
jmeter("two_groups", plan(group(http("/a"), name="one", loops=2), group(http("/b"), name="two", loops=3)))
jmeter("groups_in_order", plan(group(http("/a"), name="one"), group(http("/b"), name="two"), serialize_threadgroups=True))
jmeter("setup_and_teardown", plan(group(http("/s"), name="s", cls="SetupThreadGroup"), group(http("/a"), name="load"), group(http("/p"), name="p", cls="PostThreadGroup")))
jmeter("shared_throughput", plan(group(element("ConstantThroughputTimer", {"calcMode": 2, "throughput": "<doubleProp><name>throughput</name><value>2400.0</value><savedValue>0.0</savedValue></doubleProp>"})
                                       + http("/a"), threads=4, loops=5)), timed("20 requests in all"))
jmeter("precise_throughput", plan(group(element("PreciseThroughputTimer", {"throughput": "<doubleProp><name>throughput</name><value>20.0</value><savedValue>0.0</savedValue></doubleProp>",
                                        "throughputPeriod": 1, "duration": "<longProp name=\"duration\">5</longProp>", "batchSize": 1, "batchThreadDelay": 0, "exactLimit": 10000, "allowedThroughputSurplus": "<doubleProp><name>allowedThroughputSurplus</name><value>1.0</value><savedValue>0.0</savedValue></doubleProp>",
                                        "randomSeed": "<longProp name=\"randomSeed\">0</longProp>"}) + http("/a"), threads=2, loops=5)), timed("10 requests in all"))
