//! Lists of secrets that are erased when they are dropped, at the speed of memory: preprocessing erases more
//! than it computes.

use std::ops::{Deref, DerefMut};

use brickwork_kernels::erase;

/// A list of secrets. What is collected into it must be of known length: growing leaves copies behind.
#[derive(Default)]
pub struct Secrets<T: Copy + Default>(Vec<T>);

/// Masked values of wires, a byte each.
pub type Masked = Secrets<u8>;

impl<T: Copy + Default> Secrets<T> {
    /// Takes these secrets, which are erased when they are dropped.
    pub fn new(secrets: Vec<T>) -> Self {
        Secrets(secrets)
    }

    /// Makes room for so many secrets.
    pub fn with_capacity(capacity: usize) -> Self {
        Secrets(Vec::with_capacity(capacity))
    }

    /// Returns so many zeros.
    pub fn zeros(count: usize) -> Self {
        Secrets(vec![T::default(); count])
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

impl<T: Copy + Default> Drop for Secrets<T> {
    fn drop(&mut self) {
        erase(&mut self.0);
    }
}

impl<T: Copy + Default> FromIterator<T> for Secrets<T> {
    /// Collects secrets whose number is known beforehand.
    fn from_iter<I: IntoIterator<Item = T>>(secrets: I) -> Self {
        Secrets(secrets.into_iter().collect())
    }
}
