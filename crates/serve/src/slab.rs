//! Numbered places that are used again.

/// Values under small numbers; the number of a removed value is given to a later one.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> usize {
        if let Some(place) = self.free.pop() {
            self.places[place] = Some(value);
            return place;
        }
        self.places.push(Some(value));
        self.places.len() - 1
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.places.get_mut(place)?.as_mut()
    }

    pub(crate) fn remove(&mut self, place: usize) -> Option<T> {
        let value = self.places.get_mut(place)?.take();
        if value.is_some() {
            self.free.push(place);
        }
        value
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// The numbers in use.
    pub(crate) fn keys(&self) -> impl Iterator<Item = usize> {
        self.places.iter().enumerate().filter(|(_, place)| place.is_some()).map(|(key, _)| key)
    }
}
