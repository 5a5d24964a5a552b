//! Lists of secrets that are erased when they are dropped.

use std::ops::{Deref, DerefMut};

use bytemuck::Zeroable;
use zeroize::Zeroize;

use crate::erase;
use crate::pages::erases_pages_of;

/// A list of secrets, erased when dropped. It is erased in whole registers, because preprocessing erases more
/// than it computes. After a [stop](crate::Erasing), its pages return to the system without being erased. The
/// system clears them before another process gets them. An iterator that is collected into a list must know
/// its length, because a growing list leaves copies behind.
#[derive(Clone, Default)]
pub struct SecretBlocks<T: Copy + Default>(Vec<T>);

impl<T: Copy + Default> SecretBlocks<T> {
    /// Returns a list of these secrets.
    pub fn new(secrets: Vec<T>) -> Self {
        SecretBlocks(secrets)
    }

    /// Allocates an empty list for this many secrets.
    pub fn with_capacity(capacity: usize) -> Self {
        SecretBlocks(Vec::with_capacity(capacity))
    }

    /// Returns this many zeros, whose pages are allocated when they are written.
    pub fn zeros(count: usize) -> Self
    where
        T: Zeroable,
    {
        SecretBlocks(bytemuck::zeroed_vec(count))
    }
}

impl<T: Copy + Default> From<Vec<T>> for SecretBlocks<T> {
    fn from(secrets: Vec<T>) -> Self {
        SecretBlocks(secrets)
    }
}

impl<T: Copy + Default> Deref for SecretBlocks<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Copy + Default> DerefMut for SecretBlocks<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Copy + Default> Zeroize for SecretBlocks<T> {
    /// Erases all secrets and empties the list.
    fn zeroize(&mut self) {
        *self = SecretBlocks(Vec::new());
    }
}

impl<T: Copy + Default> Drop for SecretBlocks<T> {
    fn drop(&mut self) {
        // When a user stops the program, erasing gigabytes would take too long. Erasing pages that were never
        // written would take even longer, because it would allocate them.
        match erases_pages_of(&self.0) {
            Some(_erasing) => self.0 = Vec::new(),
            None => {
                // If a list was longer before, there are secrets after its last element.
                self.0.resize(self.0.capacity(), T::default());
                erase(&mut self.0);
            }
        }
    }
}

impl<T: Copy + Default> FromIterator<T> for SecretBlocks<T> {
    fn from_iter<I: IntoIterator<Item = T>>(secrets: I) -> Self {
        SecretBlocks(secrets.into_iter().collect())
    }
}
