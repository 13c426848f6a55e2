//! Cookie and authorization managers.

use offered_workload::Template;
use offered_workload::script::Auth;

use super::Reader;
use super::node::Node;
use crate::text::Text;

impl<'e> Reader<'e, '_> {
    /// Adds the logins of an authorization manager, each with its base URL.
    pub(super) fn logins(&mut self, manager: &Node<'e>, logins: &mut Vec<(String, Auth)>) {
        for entry in manager.element.entries("AuthManager.auth_list") {
            let auth: fn(Template) -> Auth = match entry.text_of("Authorization.mechanism") {
                "DIGEST" => Auth::Digest,
                basic if is_basic(basic) => Auth::Basic,
                _ => continue,
            };
            let under = self.resolve(manager, entry.text_of("Authorization.url").trim()).to_display();
            let mut both = self.resolve(manager, entry.text_of("Authorization.username"));
            both.push(&Text::from(":"));
            both.push(&self.resolve(manager, entry.text_of("Authorization.password")));
            logins.push((under, auth(both.template())));
        }
    }

    /// Notes logins with other mechanisms than BASIC.
    pub(super) fn note_other_logins(&mut self, manager: &Node<'e>) {
        for entry in manager.element.entries("AuthManager.auth_list") {
            let mechanism = entry.text_of("Authorization.mechanism");
            if mechanism == "DIGEST" {
                let message = "the server challenges JMeter at each request; here the nonce of the first challenge is used again, so fewer requests are sent";
                self.note(manager, message);
            }
            if mechanism != "DIGEST" && !is_basic(mechanism) {
                let who = entry.text_of("Authorization.username");
                self.note(
                    manager,
                    format!("authenticates `{who}` with {mechanism}; only BASIC and DIGEST are supported"),
                );
            }
        }
    }

    /// Whether a cookie manager begins each iteration without cookies.
    pub(super) fn clears_cookies(&self, manager: &Node<'e>) -> bool {
        match manager.element.text_of("CookieManager.controlledByThreadGroup") {
            "true" => !self.same_user,
            _ => manager.element.text_of("CookieManager.clearEachIteration") == "true",
        }
    }

    /// Notes settings of a cookie manager that are not translated.
    pub(super) fn note_cookies(&mut self, manager: &Node<'e>) {
        for cookie in manager.element.entries("CookieManager.cookies") {
            let (name, value) = (cookie.attribute("name"), cookie.text_of("Cookie.value"));
            self.note(manager, format!("starts with the cookie `{name}={value}`; set the cookie with a header"));
        }
        if self.clears_cookies(manager) && !self.single_round {
            let message = "clears cookies after each iteration; here users keep their cookies and values";
            self.clears_cookies = Some(super::note(manager, message.to_owned()));
        }
    }
}

fn is_basic(mechanism: &str) -> bool {
    ["", "BASIC", "BASIC_DIGEST"].contains(&mechanism)
}
