//! How many may look at pages that change at once: so many altogether, and so many of one person.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Altogether.
const MOST: usize = 512;
/// Of one person, who may have given the same token to colleagues.
const MOST_OF_ONE: usize = 64;

/// The places that are taken, by the names of those who have them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Places(Arc<Mutex<HashMap<String, usize>>>);

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    name: String,
}

// === impl Places ===

impl Places {
    /// A place for this person, if there is one.
    pub(crate) fn take(&self, name: &str) -> Option<Place> {
        let mut taken = self.lock();
        let own = taken.get(name).copied().unwrap_or_default();
        if own >= MOST_OF_ONE || taken.values().sum::<usize>() >= MOST {
            return None;
        }
        taken.insert(name.to_owned(), own + 1);
        Some(Place { places: self.clone(), name: name.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        // Every change under the lock is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Place ===

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(own) = taken.get_mut(&self.name) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_does_not_take_the_places_of_all_and_gives_them_back() {
        let places = Places::default();
        let mut own: Vec<Place> = (0..MOST_OF_ONE).map(|_| places.take("jane").unwrap()).collect();
        assert!(places.take("jane").is_none());
        let other = places.take("joe").unwrap();
        own.pop();
        assert!(places.take("jane").is_some());
        drop((own, other));
        assert!(places.lock().is_empty(), "nobody is remembered who has left");
    }

    #[test]
    fn there_are_so_many_places_altogether() {
        let places = Places::default();
        let taken: Vec<Place> = (0..MOST).map(|at| places.take(&format!("{}", at % 16)).unwrap()).collect();
        assert!(places.take("late").is_none());
        drop(taken);
        assert!(places.take("late").is_some());
    }
}
