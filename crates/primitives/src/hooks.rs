//! Hooks by which tests and the adversary change a party's state before the party uses it, so that the rest
//! of the run is consistent with the lie. Each protocol names the points at which its state can be changed.
//!
//! Without the feature `adversary`, which builds for users must not have, hooks hold no data and do nothing.

use brickwork_base::Party;

use crate::ot::base::SeriesKeys;

#[cfg(not(feature = "adversary"))]
pub use honest::Hooks;
#[cfg(feature = "adversary")]
pub use lying::{Hooks, StateHook, dealt};

/// True if hooks can have an effect in this build.
pub const HAVE_EFFECT: bool = cfg!(feature = "adversary");

#[cfg(not(feature = "adversary"))]
mod honest {
    use std::marker::PhantomData;

    use super::{Party, SeriesKeys};

    /// Hooks without effect, for normal builds.
    pub struct Hooks<P, S>(PhantomData<fn(P, S)>);

    impl<P, S> Clone for Hooks<P, S> {
        fn clone(&self) -> Self {
            Self::none()
        }
    }

    impl<P, S> Hooks<P, S> {
        /// Makes hooks without effect.
        pub fn none() -> Self {
            Hooks(PhantomData)
        }

        /// Returns false: nothing is changed.
        #[inline(always)]
        pub fn is_lying(&self) -> bool {
            false
        }

        /// Returns `None`: only tests replace settings.
        #[inline(always)]
        pub fn settings(&self) -> Option<&S> {
            None
        }

        /// Returns `None`: the base OTs run.
        #[inline(always)]
        pub fn dealt(&self, _: Party, _: usize, _: &[u8]) -> Option<SeriesKeys> {
            None
        }

        /// Changes nothing.
        #[inline(always)]
        pub fn alter<T: bytemuck::Pod>(&mut self, _: P, _: &mut [T]) {}
    }
}

#[cfg(feature = "adversary")]
mod lying {
    use std::sync::{Arc, Mutex};

    use brickwork_base::random::{SEED_BYTES, Seed};

    use super::{Party, SeriesKeys};

    /// Changes the bytes of a party's state at a point.
    pub type StateHook<P> = Box<dyn FnMut(P, &mut [u8]) + Send>;

    /// The lies of a cheater, and the settings of a test.
    pub struct Hooks<P, S> {
        alter: Option<Arc<Mutex<StateHook<P>>>>,
        /// Settings instead of secure ones, so that cheats succeed often enough to be counted. Both parties
        /// must have the same.
        pub settings: Option<S>,
        /// A seed that gives both parties the keys of base OTs, which saves time in thousands of runs.
        pub dealer: Option<[u8; 32]>,
    }

    impl<P, S: Clone> Clone for Hooks<P, S> {
        fn clone(&self) -> Self {
            Hooks { alter: self.alter.clone(), settings: self.settings.clone(), dealer: self.dealer }
        }
    }

    impl<P, S> Default for Hooks<P, S> {
        fn default() -> Self {
            Self::none()
        }
    }

    impl<P, S> Hooks<P, S> {
        /// Makes hooks without effect.
        pub fn none() -> Self {
            Hooks { alter: None, settings: None, dealer: None }
        }

        /// Makes hooks that change the bytes of a party's state.
        pub fn lying(alter: impl FnMut(P, &mut [u8]) + Send + 'static) -> Self {
            Hooks { alter: Some(Arc::new(Mutex::new(Box::new(alter)))), ..Self::none() }
        }

        /// Makes hooks that change the bytes of a party's state at one point.
        pub fn at(point: P, mut alter: impl FnMut(&mut [u8]) + Send + 'static) -> Self
        where
            P: PartialEq + Send + 'static,
        {
            Self::lying(move |here, bytes| {
                if here == point {
                    alter(bytes);
                }
            })
        }

        /// Replaces the settings.
        #[must_use]
        pub fn with(self, settings: S) -> Self {
            Hooks { settings: Some(settings), ..self }
        }

        /// Takes the keys of base OTs from this seed.
        #[must_use]
        pub fn dealt_by(self, dealer: [u8; 32]) -> Self {
            Hooks { dealer: Some(dealer), ..self }
        }

        /// Returns whether the party may change its state.
        pub fn is_lying(&self) -> bool {
            self.alter.is_some()
        }

        /// Returns the settings that replace the secure ones.
        pub fn settings(&self) -> Option<&S> {
            self.settings.as_ref()
        }

        /// Returns the dealt keys of a party, if there is a dealer: of `send` OTs that it sends, and of one
        /// OT for each of `choices` that it receives.
        pub fn dealt(&self, role: Party, send: usize, choices: &[u8]) -> Option<SeriesKeys> {
            Some(dealt(self.dealer.as_ref()?, role, send, choices))
        }

        /// Lets the hook change the data.
        ///
        /// # Panics
        /// If the hook has panicked.
        pub fn alter<T: bytemuck::Pod>(&mut self, point: P, data: &mut [T]) {
            if let Some(alter) = &self.alter {
                (alter.lock().expect("no panic"))(point, bytemuck::cast_slice_mut(data));
            }
        }
    }

    /// Returns a party's keys of the base OTs. A dealer draws the keys of both parties, which is faster than
    /// base OTs in thousands of runs. The party is the sender of `send` OTs, and the receiver of an OT for
    /// each of `choices`.
    pub fn dealt(dealer: &[u8; 32], role: Party, send: usize, choices: &[u8]) -> SeriesKeys {
        let key = |garbler_sends: bool, index: usize, bit: u8| {
            let mut hasher = blake3::Hasher::new_keyed(dealer);
            hasher.update(&[garbler_sends.into(), bit]).update(&(index as u64).to_le_bytes());
            Seed::from_bytes(*hasher.finalize().as_bytes().first_chunk::<SEED_BYTES>().expect("32 bytes"))
        };
        let garbler = role == Party::Garbler;
        SeriesKeys {
            sent: (0..send).map(|i| [0, 1].map(|bit| key(garbler, i, bit))).collect(),
            received: choices.iter().enumerate().map(|(i, &bit)| key(!garbler, i, bit)).collect(),
        }
    }
}
