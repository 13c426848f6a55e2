//! The hosts of recordings (HAR): which of them become targets, and to which target each request goes.

use super::request_lists::recording;
use super::semantics::has;
use super::*;
use offered_workload::Target;

/// The plan of a recording. Only `hosts` get requests; without any, the hosts of its site.
fn imported(har: &str, hosts: &[&str]) -> Result<Plan, String> {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let options = ImportOptions { hosts: &hosts, ..ImportOptions::default() };
    super::super::read(har, "f", &options).map(|mut plans| plans.remove(0)).map_err(|error| error.to_string())
}

/// The origins of the targets, the default one first.
fn origins(plan: &Plan) -> Vec<String> {
    std::iter::once(&plan.target).chain(&plan.more_targets).map(|target| target.url().origin()).collect()
}

/// Of each request: the number of its target, its name and its objects.
fn sent(plan: &Plan) -> Vec<(u16, &str, Vec<String>)> {
    let objects = |request: &Request| request.objects.iter().map(Text::to_source).collect();
    plan.requests.iter().map(|request| (request.target, request.name.as_str(), objects(request))).collect()
}

/// `har` with redirects: the response of the first URL of each pair redirects to the second.
fn redirected(har: &str, to: &[(&str, &str)]) -> String {
    to.iter().fold(har.to_owned(), |har, (from, to)| {
        let entry = format!("\"url\": \"{from}\"}}, \"response\": {{");
        assert!(har.contains(&entry), "{from}");
        har.replace(&entry, &format!("{entry}\"redirectURL\": \"{to}\", "))
    })
}

const SHOP: [(u32, &str, i32, &str); 7] = [
    (0, "https://www.shop.test/", 200, "document"),
    (0, "https://static.shop.test/a.css", 200, "stylesheet"),
    (0, "https://cdn.other.test/b.js", 200, "script"),
    (0, "https://stats.third.test/c.js", 200, "script"),
    (0, "https://www.shop.test/d.png", 200, "image"),
    (5, "https://api.shop.test:8443/items", 200, "xhr"),
    (6, "https://stats.third.test/hit", 200, "xhr"),
];

#[test]
fn hosts_of_the_site_become_targets_and_other_hosts_get_no_requests() {
    let plan = imported(&recording(&SHOP), &[]).unwrap();
    assert_eq!(
        origins(&plan),
        ["https://www.shop.test", "https://api.shop.test:8443", "https://static.shop.test"],
        "the default target is that of the page"
    );
    let objects = vec!["https://static.shop.test/a.css".to_owned(), "/d.png".to_owned()];
    assert_eq!(sent(&plan), [(0, "/", objects), (1, "api.shop.test:8443/items", Vec::new())]);
    assert_eq!(plan.more_targets[0].name(), Some("api.shop.test:8443"));
    assert!(plan.more_targets.iter().all(Target::cookies), "cookies are kept for each host");
    let note = "left out: 3 requests to other hosts: stats.third.test (2), cdn.other.test (1); if you may load a host, \
                import again with --target-host shop.test --target-host stats.third.test";
    assert!(has(&plan, note), "{:?}", plan.notes());
    let written = plan.text("f").unwrap();
    let workload = Workload::parse(&written, "w", &|name| Err(name.to_owned())).unwrap();
    assert_eq!(workload.targets().count(), 3, "{written}");
}

#[test]
fn named_hosts_are_the_only_ones_that_get_requests() {
    let har = recording(&SHOP);
    let plan = imported(&har, &["www.shop.test", "cdn.other.test"]).unwrap();
    assert_eq!(origins(&plan), ["https://www.shop.test", "https://cdn.other.test"]);
    let objects = vec!["https://cdn.other.test/b.js".to_owned(), "/d.png".to_owned()];
    assert_eq!(sent(&plan), [(0, "/", objects)]);
    // A name includes its subdomains, with or without a port.
    assert_eq!(origins(&imported(&har, &["Shop.test"]).unwrap()).len(), 3);
    assert_eq!(origins(&imported(&har, &["api.shop.test:8443"]).unwrap()), ["https://api.shop.test:8443"]);
    assert_eq!(
        imported(&har, &["hop.test"]).unwrap_err(),
        "f: no request of the recording goes to the host hop.test; its hosts are www.shop.test, static.shop.test, \
         cdn.other.test, stats.third.test, api.shop.test:8443"
    );
}

#[test]
fn ports_of_one_host_are_one_site_and_addresses_are_not() {
    let of = |first: &str, other: &str| {
        let har = recording(&[(0, first, 200, "document"), (2, other, 200, "xhr")]);
        origins(&imported(&har, &[]).unwrap()).len()
    };
    assert_eq!(of("http://localhost:3000/", "http://localhost:8080/a"), 2);
    assert_eq!(of("http://127.0.0.1:3000/", "http://127.0.0.1:81/a"), 2);
    assert_eq!(of("http://127.0.0.1/", "http://10.0.0.1/a"), 1);
    assert_eq!(of("http://me.github.io/", "http://you.github.io/a"), 1);
    assert_eq!(of("http://a.co.uk/", "http://b.co.uk/a"), 1);
    assert_eq!(of("http://a.CO.UK/", "http://b.CO.UK/a"), 1);
    assert_eq!(of("http://Shop.test/", "http://www.shop.test/a"), 2);
}

#[test]
fn redirects_to_hosts_without_requests_are_not_followed() {
    let har = recording(&[
        (0, "https://shop.test/", 200, "document"),
        (2, "https://shop.test/login", 302, "document"),
        (2, "https://id.shop.test/go", 302, "document"),
        (2, "https://login.third.test/form", 200, "document"),
        (9, "https://login.third.test/form?ok", 302, "document"),
        (9, "https://shop.test/back?code=1", 200, "document"),
        (9, "https://shop.test/pic", 302, "image"),
        (9, "https://cdn.other.test/pic", 200, "image"),
    ]);
    let har = redirected(
        &har,
        &[
            ("https://shop.test/login", "https://id.shop.test/go"),
            ("https://id.shop.test/go", "https://login.third.test/form"),
            ("https://login.third.test/form?ok", "https://shop.test/back?code=1"),
            ("https://shop.test/pic", "https://cdn.other.test/pic"),
        ],
    );
    let plan = imported(&har, &[]).unwrap();
    assert_eq!(origins(&plan), ["https://shop.test", "https://id.shop.test"], "a redirect leads to the second");
    assert_eq!(sent(&plan), [(0, "/", vec![]), (0, "/login", vec![]), (0, "/back", vec![])]);
    let redirects: Vec<Option<u32>> = plan.requests.iter().map(|request| request.redirects).collect();
    assert_eq!(redirects, [None, Some(1), None], "the redirect within the site is followed");
    assert!(has(&plan, "the redirect is not followed") && has(&plan, "an embedded object that redirects"));
    // With the host, everything is sent, and the redirects are followed.
    let plan = imported(&har, &["shop.test", "third.test"]).unwrap();
    let names: Vec<&str> = plan.requests.iter().map(|request| request.name.as_str()).collect();
    assert_eq!(names, ["/", "/login", "login.third.test/form"]);
    assert_eq!(origins(&plan).len(), 3);
}

#[test]
fn the_target_of_a_sign_in_over_another_host_is_the_host_of_the_pages() {
    let har = recording(&[
        (0, "https://app.test/", 302, "document"),
        (0, "https://sso.third.test/", 200, "document"),
        (9, "https://app.test/home", 200, "document"),
        (12, "https://app.test/more", 200, "document"),
    ]);
    let har = redirected(&har, &[("https://app.test/", "https://sso.third.test/")]);
    assert_eq!(origins(&imported(&har, &[]).unwrap()), ["https://app.test"]);
}

#[test]
fn a_page_on_a_local_host_is_the_target_before_a_sign_in_elsewhere() {
    let har = recording(&[
        (0, "https://sso.third.test/", 200, "document"),
        (1, "https://sso.third.test/b", 200, "document"),
        (9, "http://localhost:3000/back", 200, "document"),
        (9, "http://localhost:8080/me", 200, "xhr"),
    ]);
    assert_eq!(origins(&imported(&har, &[]).unwrap()), ["http://localhost:3000", "http://localhost:8080"]);
    let other = har.replace("localhost", "10.1.2.3");
    assert_eq!(origins(&imported(&other, &[]).unwrap()), ["http://10.1.2.3:3000", "http://10.1.2.3:8080"]);
}

#[test]
fn objects_belong_to_their_page_while_it_loads_and_to_the_last_step_afterwards() {
    let har = recording(&[
        (0, "http://www.shop.test/", 200, "document"),
        (0, "http://api.shop.test/list", 200, "xhr"),
        (0, "http://www.shop.test/a.png", 200, "image"),
        (8, "http://api.shop.test/more", 200, "xhr"),
        (8, "http://www.shop.test/b.png", 200, "image"),
    ]);
    let plan = imported(&har, &[]).unwrap();
    let objects: Vec<Vec<String>> = sent(&plan).into_iter().map(|(.., objects)| objects).collect();
    assert_eq!(objects, [vec!["/a.png".to_owned()], vec![], vec!["http://www.shop.test/b.png".to_owned()]]);
}
