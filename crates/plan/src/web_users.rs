//! How many people at their browsers a rate of requests stands for: N' = lambda (R + Z').
//!
//! Source: Brady and Gunther 2016, section 4.5, Table 4 and eqn 15. R is that of a request, as the
//! paper has it, though it is pages that are counted. A load generator's think time Z is a device to set the rate;
//! the people on the Internet have their own, Z', of tens of seconds, so the same traffic stands for far more of them.

use crate::Error;
use crate::error::{not_negative, positive};

/// A measured rate of requests with its mean response, and how many requests make up a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    rate: f64,
    response: f64,
    pages_per_object: f64,
}

impl Traffic {
    /// `rate` requests per second with mean response `response` seconds, of which `objects` belong to every `pages` pages.
    ///
    /// # Errors
    /// A rate, page or object count that is not above zero, or a negative response.
    pub fn new(rate: f64, response: f64, pages: u32, objects: u32) -> Result<Self, Error> {
        positive("the rate", rate)?;
        not_negative("the response", response)?;
        positive("the number of pages", f64::from(pages))?;
        positive("the number of objects", f64::from(objects))?;
        Ok(Self { rate, response, pages_per_object: f64::from(pages) / f64::from(objects) })
    }

    /// Pages per second.
    pub fn pages(&self) -> f64 {
        self.rate * self.pages_per_object
    }

    /// Pages under way at the server, Q = lambda R in pages.
    pub fn concurrency(&self) -> f64 {
        self.pages() * self.response
    }

    /// N', the people who make this traffic when each thinks `think` seconds between pages.
    ///
    /// # Errors
    /// A negative think time.
    pub fn web_users(&self, think: f64) -> Result<f64, Error> {
        Ok(self.pages() * (self.response + not_negative("the think time", think)?))
    }
}
