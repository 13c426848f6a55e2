//! Robots, by what their user agents say of themselves; the list is `robots-list.txt`.
//!
//! A list of our own: what finds a robot is a few words (`bot`, `crawl`, `spider`) and the names of HTTP clients.
//!
//! # Limitations
//! One that claims to be a browser passes, and a log without user agents has no robots.

use regex::bytes::{Regex, RegexBuilder};

use crate::clients::ByClient;

/// The list, and the agents already looked up.
pub(crate) struct Robots {
    list: Regex,
    known: ByClient<bool>,
}

/// Agents remembered before all are forgotten: what bounds the memory when every line has an agent of its own.
const MOST: usize = 100_000;

impl Default for Robots {
    fn default() -> Self {
        let lines = include_str!("robots-list.txt").lines().filter(|line| !line.starts_with('#'));
        let any = lines.collect::<Vec<_>>().join("|");
        let list = RegexBuilder::new(&any).case_insensitive(true).build().expect("the list is well formed");
        Self { list, known: ByClient::default() }
    }
}

impl Robots {
    /// Whether `agent` is a robot's.
    pub(crate) fn has(&mut self, agent: &[u8]) -> bool {
        let hash = twox_hash::XxHash3_64::oneshot(agent);
        if self.known.len() > MOST {
            self.known.clear();
        }
        *self.known.entry(hash).or_insert_with(|| self.list.is_match(agent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_that_say_so_are_found_and_people_are_not() {
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
