//! Conditions of checks, parts of responses, and the choice among matches.

use super::*;

#[test]
fn all_checks_are_evaluated_and_the_failed_ones_named() {
    let json = response(&[], br#"{"list": [1, 2]}"#);
    let checks = "extract = [{ name = \"t\", json = \"$.none\" }]\n\
                  check = [{ status = 200 }, { size = \"> 99\" }, { json = \"$.x\" }, { json = \"$.list\" }]";
    assert_eq!(evaluate(checks, 500, &json).0, Err("status = 200; size > 99; json $.x; extract t".to_owned()));
}

#[test]
fn conditions_can_be_negated_counted_and_timed() {
    let headers = [("Location", "/orders/17?a=b"), ("Set-Cookie", "sid=x1; Path=/"), ("set-cookie", "b=2")];
    let page = response(&headers, HTML);
    for (check, passes, name) in [
        ("css = \".error\", not = true", true, ""),
        ("css = \"a\", not = true", false, "not css a"),
        ("status = 404, not = true", true, ""),
        ("body = true, contains = \"Shop\", not = true", false, "not body contains Shop"),
        ("css = \"div, p, a\", count = 3", true, ""),
        ("css = \"div, p, a\", count = \"< 3\"", false, "css div, p, a count < 3"),
        ("css = \"b\", count = 0", true, ""),
        ("json = \"$.a\", count = \">= 1\", not = true", true, ""),
        ("time = \"< 1100ms\"", true, ""),
        ("time = \"< 900ms\"", false, "time < 900ms"),
        ("time = \"900ms..1100ms\"", true, ""),
        ("header = \"Location\", regex = '/orders/(\\d+)', is = \"17\"", true, ""),
        ("header = \"Location\", regex = 'x(\\d+)'", false, "header Location regex x(\\d+)"),
        ("header = \"Location\", matches = '^/orders/\\d+'", true, ""),
        ("cookie = \"sid\", is = \"x1\"", true, ""),
        ("cookie = \"b\"", true, ""),
        ("cookie = \"Path\"", false, "cookie Path"),
        ("url = true, is = \"http://h:81/\"", true, ""),
        ("url = true, regex = 'h:(\\d+)', is = \"81\"", true, ""),
        ("url = true, contains = \"login\"", false, "url contains login"),
    ] {
        let (result, _) = evaluate(&format!("check = [{{ {check} }}]"), 200, &page);
        assert_eq!(result, if passes { Ok(()) } else { Err(name.to_owned()) }, "{check}");
    }
    // A condition whose value is missing fails either way.
    let missing =
        "extract = [{ name = \"t\", regex = \"none\" }]\ncheck = [{ body = true, contains = \"{{t}}\", not = true }]";
    assert_eq!(evaluate(missing, 200, &page).0, Err("not body contains {{t}}; extract t".to_owned()));
    let unreadable = response(&[("Content-Encoding", "gzip")], b"no gzip");
    let (result, _) = evaluate("check = [{ body = true, contains = \"x\", not = true }]", 200, &unreadable);
    assert_eq!(result, Err("the response is not valid gzip".to_owned()));
}

#[test]
fn any_of_several_matches_or_all_of_them_are_extracted() {
    let page = response(&[("Link", "</1>, </2>"), ("Set-Cookie", "sid=x-1; HttpOnly")], b"a1 a2 a3");
    for (extract, rendered) in [
        ("regex = 'a(\\d)', nth = \"last\"", "/3"),
        ("regex = 'a(\\d)', nth = 3", "/3"),
        ("regex = 'a(\\d)', join = \"-\"", "/1-2-3"),
        ("regex = 'b', join = \"-\", default = \"none\"", "/none"),
        ("regex = 'a(\\d)', count = true", "/3"),
        ("regex = 'b', count = true", "/0"),
        ("header = \"link\", regex = '<([^>]+)>', nth = 2", "//2"),
        ("header = \"none\", regex = '.', default = \"-\"", "/-"),
        ("cookie = \"sid\", regex = '\\d'", "/1"),
        ("url = true, regex = '^(\\w+):'", "/http"),
    ] {
        let (result, path) = evaluate(&format!("extract = [{{ name = \"t\", {extract} }}]"), 200, &page);
        assert_eq!((result, path.as_str()), (Ok(()), rendered), "{extract}");
    }
    let large = response(&[], "a".repeat(2 << 20).as_bytes());
    let (result, _) = evaluate("extract = [{ name = \"t\", regex = 'a', join = \"\" }]", 200, &large);
    assert_eq!(result, Err("extract t: all matches together are larger than 1 MB".to_owned()));
}

#[test]
fn values_are_composed_of_values_where_they_are_used() {
    let text = "[variables]\nuser.file = \"users.csv\"\nfull = \"{{user.name}} & {{t}}\"\nn = { sequence = 5 }\n\
                twice = \"{{full}}, {{n}}\"\n[[request]]\nname = \"a\"\nget = \"/\"\nextract = [{ name = \"t\", regex = 'x' }]\n\
                [[request]]\nname = \"b\"\npost = \"/?q={{full}}\"\nbody = '<a>{{twice}}</a>'\n\
                [[flow]]\nname = \"f\"\nstep = [{ request = \"a\" }, { request = \"b\" }]";
    let script = script(text).unwrap();
    let mut state = SessionState::default();
    script.evaluate(0, AT, Received::for_test(200, &response(&[], b"x")), &mut state, &|| Nanos::MAX).unwrap();
    let built = script.request(1, AT, Some(&state), Instant::ZERO).unwrap();
    assert_eq!(built.path, "/?q=bob%20%26%20x");
    assert_eq!(built.body.as_deref(), Some(b"<a>bob &amp; x, 14</a>".as_slice()));
}
