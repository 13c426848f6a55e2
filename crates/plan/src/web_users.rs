//! Converts a rate of requests to the number of web users who would cause it: N' = lambda (R + Z').
//!
//! Source: Brady and Gunther 2016, section 4.5, Table 4 and eqn 15. As in the paper, R is the response time of a
//! request, although N' counts pages. The think time Z of a load generator only sets the rate. People on the Internet
//! have their own think time Z' of tens of seconds, so the same traffic corresponds to far more people.

use crate::Error;
use crate::error::{not_negative, positive};

/// A measured rate of requests, its mean response time, and the number of requests per page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    rate: f64,
    response: f64,
    pages_per_object: f64,
}

impl Traffic {
    /// Traffic of `rate` requests per second with mean response time `response`, in seconds. `pages` pages consist of
    /// `objects` requests.
    ///
    /// # Errors
    /// The rate, the page count or the object count is not above zero, or the response is negative.
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

    /// Mean number of pages in the system, Q = lambda R in pages.
    pub fn concurrency(&self) -> f64 {
        self.pages() * self.response
    }

    /// N', the number of people who cause this traffic when each thinks `think` seconds between pages.
    ///
    /// # Errors
    /// The think time is negative.
    pub fn web_users(&self, think: f64) -> Result<f64, Error> {
        Ok(self.pages() * (self.response + not_negative("the think time", think)?))
    }
}
