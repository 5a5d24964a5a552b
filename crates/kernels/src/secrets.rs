//! Lists of secrets that are erased when they are dropped.

use std::ops::{Deref, DerefMut};

use bytemuck::Zeroable;
use zeroize::Zeroize;

use crate::erase;
use crate::pages::erases_pages_of;

/// A list of secrets, erased when dropped at the speed of memory: preprocessing erases more than it computes.
/// After a [stop](crate::Erasing), pages return to the system without erasing; the system clears them before
/// anybody gets them again. An iterator that is collected into a list must know its length: growing leaves
/// copies behind.
#[derive(Clone, Default)]
pub struct Secrets<T: Copy + Default>(Vec<T>);

impl<T: Copy + Default> Secrets<T> {
    /// Takes these secrets, which are erased when they are dropped.
    pub fn new(secrets: Vec<T>) -> Self {
        Secrets(secrets)
    }

    /// Makes room for this many secrets.
    pub fn with_capacity(capacity: usize) -> Self {
        Secrets(Vec::with_capacity(capacity))
    }

    /// Returns this many zeros, whose pages are allocated when they are written.
    pub fn zeros(count: usize) -> Self
    where
        T: Zeroable,
    {
        Secrets(bytemuck::zeroed_vec(count))
    }
}

impl<T: Copy + Default> From<Vec<T>> for Secrets<T> {
    fn from(secrets: Vec<T>) -> Self {
        Secrets(secrets)
    }
}

impl<T: Copy + Default> Deref for Secrets<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Copy + Default> DerefMut for Secrets<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Copy + Default> Zeroize for Secrets<T> {
    /// Erases all of them; none are left.
    fn zeroize(&mut self) {
        *self = Secrets(Vec::new());
    }
}

impl<T: Copy + Default> Drop for Secrets<T> {
    fn drop(&mut self) {
        // Erasing gigabytes takes longer than a user who stops the program wants to wait, and even longer for
        // untouched pages, which writing would allocate.
        match erases_pages_of(&self.0) {
            Some(_erasing) => self.0 = Vec::new(),
            None => {
                // A list that was longer has left some behind its last one.
                self.0.resize(self.0.capacity(), T::default());
                erase(&mut self.0);
            }
        }
    }
}

impl<T: Copy + Default> FromIterator<T> for Secrets<T> {
    /// Collects secrets whose number is known beforehand.
    fn from_iter<I: IntoIterator<Item = T>>(secrets: I) -> Self {
        Secrets(secrets.into_iter().collect())
    }
}
