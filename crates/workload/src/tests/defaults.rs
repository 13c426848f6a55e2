use crate::Workload;
use crate::write::tests::read;
use offered_base::time::Nanos;

const REQUESTS: &str = "[[request]]\nname = \"home\"\nget = \"/\"\nheaders = { X = \"own\" }\ncheck = [{ name = \"ok\", status = 200 }]\n\
    [[request]]\nname = \"item\"\nget = \"/item\"\ntimeout = \"9s\"\nauth = false\n";

fn names(workload: &Workload) -> Vec<&str> {
    workload.requests().iter().map(crate::Request::name).collect()
}

/// The names of the requests of the first sessions.
fn walks(workload: &Workload, sessions: u64) -> Vec<String> {
    let labels = workload.labels();
    let walk =
        |session| workload.walk(session).map(|(_, label)| labels[usize::from(label)].clone()).collect::<Vec<_>>();
    (0..sessions).map(|session| walk(session).join(", ")).collect()
}

#[test]
fn keys_of_a_flow_hold_for_its_requests_that_have_none() {
    let workload = read(&format!(
        "duration = \"9s\"\narrivals.closed.users = 1\ntarget = {{ url = \"http://a/\", headers = {{ Y = \"target\" }} }}\n{REQUESTS}\
         [[flow]]\nname = \"f\"\nheaders = {{ x = \"flow\", Y = \"flow\" }}\nauth = {{ bearer = \"t\" }}\ntimeout = \"2s\"\nredirects = 3\n\
         check = [{{ name = \"ok\", status = 204 }}, {{ time = \"< 1s\" }}]\nstep = [\"home\", \"item\"]\n"
    ));
    let [home, item] = workload.requests() else { panic!("two requests") };
    let target = workload.target().unwrap();
    let headers =
        |request: &crate::Request| request.headers_to(target).map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!((headers(home), headers(item)), (vec!["X".to_owned(), "Y".into()], vec!["x".into(), "Y".into()]));
    assert_eq!(home.attempts().timeout, Some(Nanos::from_secs(2)));
    assert_eq!((item.attempts().timeout, item.attempts().redirects), (Some(Nanos::from_secs(9)), Some(3)));
    assert!(home.auth_to(target).is_some() && item.auth_to(target).is_none());
    let checks = |request: &crate::Request| request.checks().iter().map(|check| check.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (checks(home), checks(item)),
        (vec!["ok".to_owned(), "time < 1s".into()], vec!["ok".into(), "time < 1s".into()])
    );
    assert_eq!((names(&workload), read(&workload.to_string())), (vec!["home", "item"], workload.clone()));
}

#[test]
fn a_request_with_different_settings_is_several_requests() {
    let workload = read(&format!(
        "duration = \"9s\"\narrivals.partly_open.rate = \"1/s\"\n{REQUESTS}\
         [[flow]]\nname = \"web\"\nstep = [\"home\", \"item\"]\n[[flow]]\nname = \"app\"\nheaders = {{ A = \"1\" }}\nstep = [\"home\"]\n"
    ));
    assert_eq!(names(&workload), ["home", "home (app)", "item"]);
    assert!(walks(&workload, 50).iter().all(|walk| walk == "home, item" || walk == "home (app)"));
}

const SCENARIOS: &str = "[[target]]\nname = \"eu\"\nurl = \"http://eu/\"\n[[target]]\nname = \"us\"\nurl = \"http://us/\"\n\
    [[scenario]]\nname = \"europe\"\narrivals.closed.users = 1\nonce.start = [\"item\"]\n\
    [[scenario]]\nname = \"america\"\ntarget = \"us\"\narrivals.closed = { users = 1, visits = 1 }\n\
    [[scenario]]\nname = \"batch\"\ntarget = \"us\"\ntimeout = \"1m\"\nrequests = [\"item\"]\narrivals.open.rate = \"1/s\"\n";

#[test]
fn scenarios_send_the_same_requests_to_their_targets() {
    let text = format!("duration = \"9s\"\n{REQUESTS}{SCENARIOS}[[flow]]\nname = \"f\"\nstep = [\"home\", \"item\"]\n");
    let workload = read(&text);
    assert_eq!(names(&workload), ["home", "home (america)", "item", "item (america)", "item (batch)"]);
    let targets: Vec<u16> = workload.requests().iter().map(crate::Request::target).collect();
    assert_eq!(targets, [0, 1, 0, 1, 1]);
    // Sessions belong to the scenarios in turn.
    assert_eq!(walks(&workload, 3), ["item, home, item", "home (america), item (america)", "item (batch)"]);
    assert_eq!(read(&workload.to_string()), workload, "{workload}");
    let shares = workload.scenario(2).unwrap().shares();
    assert_eq!(shares, [0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn the_form_of_a_copied_request_is_on_its_copied_page() {
    let text = format!(
        "duration = \"9s\"\n{REQUESTS}[[request]]\nname = \"save\"\nsubmit = {{ form = \"#f\", page = \"home\" }}\n{SCENARIOS}\
         [[flow]]\nname = \"f\"\nstep = [\"home\", \"item\", \"save\"]\n"
    );
    let workload = read(&text);
    let at = |name: &str| names(&workload).iter().position(|own| *own == name).unwrap();
    assert_eq!(workload.form_pages(at("save (america)")), [at("home (america)")]);
}

#[test]
fn the_page_of_a_form_may_be_in_another_flow() {
    let workload = read(&format!(
        "duration = \"9s\"\narrivals.partly_open.rate = \"1/s\"\n{REQUESTS}\
         [[request]]\nname = \"save\"\nsubmit = {{ form = \"#f\", page = \"home\" }}\n[once]\nstart = [\"home\"]\n\
         [[flow]]\nname = \"web\"\nheaders = {{ A = \"1\" }}\nstep = [\"save\", \"item\"]\n\
         [[flow]]\nname = \"app\"\nheaders = {{ A = \"2\" }}\nstep = [\"home\"]\n"
    ));
    assert_eq!(names(&workload), ["home", "home (app)", "item", "save"]);
    assert_eq!(workload.form_pages(3), [0]);
}

#[test]
fn mistakes_are_named() {
    for (from, to, reason) in [
        ("target = \"us\"", "target = \"uk\"", "no [[target]] is named `uk`"),
        ("requests = [\"item\"]", "requests = [\"itm\"]", "did you mean `item`"),
        ("requests = [\"item\"]", "requests = [\"item\"]\nflows = [\"f\"]", "cannot be combined"),
        ("timeout = \"1m\"", "redirects = 999", "redirects must be at most"),
        ("timeout = \"1m\"", "headers = { \"a b\" = \"1\" }", "not a header name"),
    ] {
        let text =
            format!("duration = \"9s\"\n{REQUESTS}{SCENARIOS}[[flow]]\nname = \"f\"\nstep = [\"home\", \"item\"]\n");
        let message =
            Workload::parse(&text.replacen(from, to, 1), "w", &|_| Err(String::new())).unwrap_err().to_string();
        assert!(message.contains(reason), "{reason}: {message}");
    }
}
