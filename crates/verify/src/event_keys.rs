//! Places: the launches of a scope on their way into an order, held where they are few and gone through again where they are not.

use std::io;

use offered_model::Place;

use crate::scope::{Launch, Meant, Scope, in_order};

/// What was launched, or meant for the window, in whatever order it comes.
pub(crate) struct Places<'a> {
    scope: Scope<'a>,
    /// Of no more than [`MOST`] all of them.
    held: Option<Vec<Place>>,
}

/// So many are held: 40 MB.
const MOST: usize = 1_000_000;

impl<'a> Places<'a> {
    /// Those of `scope`, of which none has come yet.
    pub(crate) fn new(scope: Scope<'a>) -> Self {
        Self { scope, held: Some(Vec::new()) }
    }

    /// Those of `scope`, all of which are gone through each time.
    pub(crate) fn unheld(scope: Scope<'a>) -> Self {
        Self { scope, held: None }
    }

    /// Takes the next one.
    #[inline]
    pub(crate) fn add(&mut self, place: Place) {
        if let Some(held) = &mut self.held {
            held.push(place);
            if held.len() > MOST {
                self.held = None;
            }
        }
    }

    fn each(&self, mut see: impl FnMut(Place)) -> io::Result<()> {
        match &self.held {
            Some(held) => {
                held.iter().copied().for_each(see);
                Ok(())
            }
            None => self.scope.each_place(&mut see),
        }
    }

    /// What `fresh` makes, after `add` has given it the launches in the order in which they were sent.
    pub(crate) fn as_sent<C>(&self, fresh: impl Fn() -> C, add: impl Fn(&mut C, Launch)) -> io::Result<C> {
        let source =
            |give: &mut dyn FnMut(Launch)| self.each(|place| self.scope.launch(place).into_iter().for_each(&mut *give));
        in_order(&source, fresh, add)
    }

    /// What `fresh` makes, after `add` has given it the launches, and what was meant to be one, in the order in which they were meant.
    pub(crate) fn as_meant<C>(&self, fresh: impl Fn() -> C, add: impl Fn(&mut C, Meant)) -> io::Result<C> {
        let source = |give: &mut dyn FnMut(Meant)| {
            self.each(|place| {
                let (sent, inside) = (self.scope.launched(place), self.scope.is_meant(place));
                if sent.is_some() || inside {
                    give(Meant { intended: place.intended.0, sent, inside, first: place.step == 0 });
                }
            })
        };
        in_order(&source, fresh, add)
    }
}
