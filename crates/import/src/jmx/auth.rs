//! Cookie and authorization managers.

use offered_workload::script::Auth;

use super::Reader;
use super::node::Node;
use crate::text::Text;

impl<'e> Reader<'e, '_> {
    /// Adds the logins of an authorization manager, each with its base URL.
    pub(super) fn logins(&mut self, manager: &Node<'e>, logins: &mut Vec<(String, Auth)>) {
        for entry in manager.element.entries("AuthManager.auth_list") {
            if !is_basic(entry.text_of("Authorization.mechanism")) {
                continue;
            }
            let under = self.resolve(manager, entry.text_of("Authorization.url").trim()).to_display();
            let mut both = self.resolve(manager, entry.text_of("Authorization.username"));
            both.push(&Text::from(":"));
            both.push(&self.resolve(manager, entry.text_of("Authorization.password")));
            logins.push((under, Auth::Basic(both.template())));
        }
    }

    /// Notes logins with unsupported mechanisms.
    pub(super) fn note_other_logins(&mut self, manager: &Node<'e>) {
        for entry in manager.element.entries("AuthManager.auth_list") {
            let mechanism = entry.text_of("Authorization.mechanism");
            if !is_basic(mechanism) {
                let who = entry.text_of("Authorization.username");
                self.note(manager, format!("authenticates `{who}` with {mechanism}; only BASIC is supported"));
            }
        }
    }

    /// Notes settings of a cookie manager that are not translated.
    pub(super) fn note_cookies(&mut self, manager: &Node<'e>) {
        for cookie in manager.element.entries("CookieManager.cookies") {
            let (name, value) = (cookie.attribute("name"), cookie.text_of("Cookie.value"));
            self.note(manager, format!("starts with the cookie `{name}={value}`; set it with a header"));
        }
        let clears = |name: &str| manager.element.text_of(name) == "true";
        if clears("CookieManager.clearEachIteration") || clears("CookieManager.controlledByThreadGroup") {
            self.note(manager, "clears cookies after each iteration; here sessions keep them");
        }
    }
}

fn is_basic(mechanism: &str) -> bool {
    ["", "BASIC", "BASIC_DIGEST"].contains(&mechanism)
}
