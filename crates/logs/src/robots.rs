//! Detects robots by their user agents.
//!
//! Uses the list of the crate `iscrawl` (Crawlerdex, about 3,000 patterns including HTTP clients and monitors) and a
//! few keywords for robots that are not on the list.
//!
//! # Limitations
//! Robots that pretend to be browsers are not detected, nor are robots in logs without user agents.

use regex::bytes::{Regex, RegexBuilder};

use crate::clients::ClientMap;

/// Keywords of robots, case-insensitive. `cubot` is excluded because it is a brand of phones.
const KEYWORDS: &str = "(^|[^u])bot|crawl|spider|fetch|feed|monitor|health.?check|uptime|headless";

/// Maximum number of bytes of a user agent that are searched, to bound the time.
const MAX_AGENT_BYTES: usize = 1000;

/// Keywords and a cache of user agents.
pub(crate) struct Robots {
    keywords: Regex,
    known: ClientMap<bool>,
}

/// Maximum size of the cache; it bounds memory if every line has its own user agent.
const MAX_REMEMBERED: usize = 100_000;

impl Default for Robots {
    fn default() -> Self {
        let keywords = RegexBuilder::new(KEYWORDS).case_insensitive(true).build().expect("the words are well formed");
        Self { keywords, known: ClientMap::default() }
    }
}

impl Robots {
    /// Whether `agent` is the user agent of a robot.
    pub(crate) fn has(&mut self, agent: &[u8]) -> bool {
        let hash = twox_hash::XxHash3_64::oneshot(agent);
        if self.known.len() > MAX_REMEMBERED {
            self.known.clear();
        }
        let start = &agent[..agent.len().min(MAX_AGENT_BYTES)];
        let listed = || iscrawl::crawler_info(&String::from_utf8_lossy(start)).is_some();
        *self.known.entry(hash).or_insert_with(|| self.keywords.is_match(start) || listed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_robots_are_detected_and_browsers_are_not() {
        let mut robots = Robots::default();
        for agent in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
            "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
            "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36",
            "ELB-HealthChecker/2.0",
            "curl/8.5.0",
            "python-requests/2.31.0",
            "Mediapartners-Google",
            "no-list-has-this-one-bot/0.1",
        ] {
            assert!(robots.has(agent.as_bytes()) && robots.has(agent.as_bytes()), "{agent}");
        }
        for agent in [
            "",
            "-",
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Mozilla/5.0 (Linux; Android 10; CUBOT_X30) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Mobile Safari/537.36",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1",
            "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0)",
        ] {
            assert!(!robots.has(agent.as_bytes()), "{agent}");
        }
    }
}
