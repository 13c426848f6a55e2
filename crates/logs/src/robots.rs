//! Robots, by the user agents that the `isbot` crate knows.
//!
//! # Limitations
//! The list finds robots that say what they are (`bot`, `crawl`, `spider`, known tools and names). One that claims to be a
//! browser passes, and a log without user agents has no robots.

use crate::sessions::ByClient;

/// The list, and the agents already looked up.
#[derive(Default)]
pub(crate) struct Robots {
    list: isbot::Bots,
    known: ByClient<bool>,
}

/// Agents remembered before all are forgotten: what bounds the memory when every line has an agent of its own.
const MOST: usize = 100_000;

impl Robots {
    /// Whether `agent` is a robot's.
    pub(crate) fn has(&mut self, agent: &[u8]) -> bool {
        let hash = twox_hash::XxHash3_64::oneshot(agent);
        if self.known.len() > MOST {
            self.known.clear();
        }
        *self.known.entry(hash).or_insert_with(|| self.list.is_bot(&String::from_utf8_lossy(agent)))
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
            "curl/8.5.0",
        ] {
            assert!(robots.has(agent.as_bytes()) && robots.has(agent.as_bytes()), "{agent}");
        }
        for agent in ["", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"] {
            assert!(!robots.has(agent.as_bytes()), "{agent}");
        }
    }
}
