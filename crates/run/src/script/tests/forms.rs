//! Forms that are submitted as they were served.

use super::*;

/// The request that submits a form of `page`, which is served at `/wiki/edit?title=a`.
fn submitted(submit: &str, headers: &[(&str, &str)], page: &[u8]) -> Result<OutgoingRequest, String> {
    let text = format!(
        "[variables]\nuser.file = \"users.csv\"\n[[request]]\nname = \"page\"\nget = \"/\"\n[[request]]\nname = \"save\"\n{submit}\n\
         [[flow]]\nname = \"f\"\nstep = [{{ request = \"page\" }}, {{ request = \"save\" }}]"
    );
    let script = script(&text).map_err(|error| error.to_string())?;
    let mut state = SessionState::default();
    let reply = response(headers, page);
    let received = Received { path: "/wiki/edit?title=a", ..Received::for_test(200, &reply) };
    script.evaluate(0, AT, received, &mut state, &|| Nanos::MAX).map_err(|no| no.reason)?;
    script.request(1, AT, Some(&state), Instant::ZERO).map_err(|missing| format!("{missing:?}").replace('\\', ""))
}

fn body_of(submit: &str, page: &str) -> String {
    let request = submitted(submit, &[], page.as_bytes()).unwrap();
    String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned()
}

const EDIT: &str = "<!doctype html><form id=search action=/search><input name=q></form>\
    <form id=edit method=post action='?action=submit&amp;x=1'>\
    <input type=hidden name=token value='a+b\\'><input type=hidden name=_charset_>\
    <textarea name=text>\nold\ntext</textarea><input name=summary value='no\nbreak'>\
    <input type=checkbox name=minor><input type=checkbox name=watch value=1 checked>\
    <input type=radio name=r value=1 checked><input type=radio name=r value=2>\
    <select name=section><option value=0 disabled>none<option> all  of it <option value=2>two</select>\
    <select name=tags multiple><option selected>a<option>b<option selected>c</select>\
    <input name=off value=x disabled><fieldset disabled><legend><input name=in value=1></legend><input name=out></fieldset>\
    <input type=button name=js value=x><input type=submit name=save value=Save><button name=preview value=1>Preview</button>\
    <input type=image name=go></form><input form=edit name=apart value=y>";

#[test]
fn a_form_is_submitted_as_a_browser_does() {
    let request = submitted("submit = \"#edit\"", &[], EDIT.as_bytes()).unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/wiki/edit?action=submit&x=1"));
    assert_eq!(
        String::from_utf8_lossy(request.body.as_deref().unwrap()),
        "token=a%2Bb%5C&_charset_=UTF-8&text=old%0D%0Atext&summary=nobreak&watch=1&r=1&section=all+of+it&tags=a&tags=c&in=1&save=Save&apart=y"
    );
    assert_eq!(header(&request, "Content-Type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(header(&request, "Referer"), Some("http://h:81/wiki/edit?title=a"));
    assert_eq!(header(&request, "Origin"), Some("http://h:81"));
}

#[test]
fn a_button_can_be_chosen_and_fields_changed_by_name() {
    let body = body_of(
        "submit = { form = \"button[name=preview]\", fields = { text = \"{{user.name}}\\nnew\", minor = true, watch = false, r = \"2\", \
         tags = [\"b\", \"c\"], off = \"on\" }, add = { js = \"1\" } }",
        &EDIT.replace("name=js", "name=z"),
    );
    assert_eq!(
        body,
        "token=a%2Bb%5C&_charset_=UTF-8&text=bob%0D%0Anew&summary=nobreak&minor=on&r=2&section=all+of+it&tags=b&tags=c&off=on&in=1&preview=1&apart=y&js=1"
    );
    assert!(body_of("submit = \"input[type=image]\"", EDIT).contains("&go.x=0&go.y=0&apart=y"));
}

#[test]
fn a_search_form_puts_its_fields_into_the_query() {
    let request =
        submitted("submit = { form = \"#search\", fields = { q = \"a & b\" } }", &[], EDIT.as_bytes()).unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str(), &request.body), ("GET", "/search?q=a+%26+b", &None));
    assert_eq!(header(&request, "Origin"), None);
    // Without an action: the page itself, with another query.
    let request =
        submitted("submit = \"form\"", &[], b"<form><input name=p value=2><button>Go</button></form>").unwrap();
    assert_eq!(request.path, "/wiki/edit?p=2");
}

#[test]
fn files_are_uploaded_in_multipart_forms() {
    let page = "<base href='/up/'><form method=POST enctype=multipart/form-data action=send><input type=file name=a><input type=file name=b>\
                <input name='q\"x' value='&auml;'></form>";
    let submit = "submit = { form = \"form\", fields = { a = { file = \"a.png\", type = \"image/png\" } } }";
    let request = submitted(submit, &[], page.as_bytes()).unwrap();
    assert_eq!(request.path, "/up/send");
    let kind = header(&request, "Content-Type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\u{fffd}P\u{fffd}\0\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"b\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"q%22x\"\r\n\r\n\u{e4}\r\n--{boundary}--\r\n"
    );
    assert_eq!(String::from_utf8_lossy(request.body.as_deref().unwrap()), expected);
}

#[test]
fn values_are_sent_in_the_encoding_of_the_page() {
    let page = b"<form method=post><input name=a value='caf\xe9'><input name=b></form>";
    let submit = "submit = { form = \"form\", fields = { b = \"\u{e9}\u{4e2d}\" } }";
    let request = submitted(submit, &[("Content-Type", "text/html; charset=iso-8859-1")], page).unwrap();
    assert_eq!(request.body.as_deref(), Some(b"a=caf%E9&b=%E9%26%2320013%3B".as_slice()));
}

#[test]
fn buttons_override_what_their_form_says() {
    let page = "<form method=post action=/a><button formaction=/b formmethod=get name=x value=1>B</button></form>";
    let request = submitted("submit = \"form\"", &[], page.as_bytes()).unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/b?x=1"));
    // Only the controls behind a form in a table belong to it; the parser ends it at once.
    let table = "<table><form id=t method=post action=/t><tr><td><input name=a value=1></td></tr></form></table><form><input name=b></form>";
    assert_eq!(body_of("submit = \"#t\"", table), "a=1");
}

#[test]
fn a_form_that_is_not_there_or_lacks_a_field_is_a_missing_value() {
    for (submit, page, reason) in [
        (
            "submit = \"#none\"",
            EDIT,
            "form `#none`: no element of the page matches the selector; the page has form[id=\"edit\"]",
        ),
        ("submit = \"#none\"", "<form name=a></form><form action='/b?c=1'>", "form[action^=\"/b\"], form[name=\"a\"]"),
        ("submit = \"#none\"", "<p>", "the page has no form"),
        ("submit = \"p\"", "<p>", "not in a form"),
        ("submit = { form = \"#edit\", fields = { txt = \"a\" } }", EDIT, "has no field `txt` (did you mean `text`?)"),
        ("submit = \"form\"", "<form method=dialog></form>", "closes a dialog"),
        ("submit = \"form\"", "<form action='http://other.test/'></form>", "is on another server than http://h:81"),
        ("submit = \"a[\"", EDIT, "not a valid CSS selector"),
    ] {
        let error = submitted(submit, &[], page.as_bytes()).unwrap_err();
        assert!(error.contains(reason), "{submit}: {error}");
    }
}

#[test]
fn a_form_with_many_controls_is_read_within_the_time_limit() {
    // The owner of each control is the last element of the page.
    let page = format!("{}<form id=f></form>", "<input form=f name=a>".repeat(5000));
    let looks = std::cell::Cell::new(0);
    let time_left = || {
        looks.set(looks.get() + 1);
        if looks.get() <= 500 { Nanos::from_secs(1) } else { Nanos::ZERO }
    };
    let text = "[[request]]\nname = \"page\"\nget = \"/\"\n[[request]]\nname = \"save\"\nsubmit = \"form\"\n\
        [[flow]]\nname = \"f\"\nstep = [{ request = \"page\" }, { request = \"save\" }]";
    let (script, reply) = (script(text).unwrap(), response(&[], page.as_bytes()));
    let mut state = SessionState::default();
    let rejection = script.evaluate(0, AT, Received::for_test(200, &reply), &mut state, &time_left).unwrap_err();
    assert!(rejection.out_of_time && rejection.reason.starts_with("form of `save`"), "{rejection:?}");
}
