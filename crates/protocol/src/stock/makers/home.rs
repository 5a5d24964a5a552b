//! The maker's end of the connection: it works for the coordinator, which has the store.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel as signal};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::fill::make_share;
use super::super::records::NewItemsPlace;
use super::super::side::{PreprocessingStep as _, StockProtocol};
use super::super::workers::{Greeted, WorkerEnd, greet_one};
use super::*;
use crate::Metered;
use brickwork_base::stop::{Stop, Stopped};
use brickwork_store::{Chain, Elsewhere, Ranges};

/// The connection to the coordinator. While a share is sent, another thread regularly asks the coordinator
/// over it whether to continue.
struct Home {
    channel: Mutex<Channel>,
}

impl Home {
    /// Uses the connection without checking for a stop, so that a stopped maker can still report its end.
    fn with<T>(&self, act: impl FnOnce(&mut Channel) -> Result<T, Error>) -> Result<T, Error> {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        Stop::new().enter(|| act(&mut channel))
    }

    /// Sends a message, and receives the answer.
    fn ask(&self, said: &Said) -> Result<Told, Error> {
        self.with(|channel| {
            say(channel, said)?;
            told(channel)
        })
    }

    fn say(&self, said: &Said) -> Result<(), Error> {
        self.with(|channel| say(channel, said))
    }

    /// Asks regularly whether to continue, until `over` is closed.
    fn asks(&self, stop: &Stop, over: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(BEAT) {
            match self.ask(&Said::Alive) {
                Ok(Told::GoOn) => {}
                _ => return stop.ask(),
            }
        }
    }
}

impl Elsewhere for Home {
    fn begin(&self, serial: Serial, bulk: Option<Bulk>) -> Result<(), Error> {
        self.say(&Said::Begin { serial, bulk })
    }

    fn put(&self, serial: Serial, first: u32, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.with(|channel| {
            say(channel, &Said::Bulk { serial, first, at, bytes: bytes.len() as u64 })?;
            channel.send(msg::BYTES, bytes).map_err(within)
        })
    }

    fn record(&self, serial: Serial, first: u64, items: u32, bytes: &[u8]) -> Result<(), Error> {
        self.with(|channel| {
            say(channel, &Said::Record { serial, first, items, bytes: bytes.len() as u64 })?;
            send_secret(channel, bytes)
        })
    }

    fn finish(&self, serial: Serial, batch: &Batch, chain: &Chain) -> Result<(), Error> {
        self.with(|channel| {
            say(channel, &Said::Finish { serial, batch: batch.clone() })?;
            send_secret(channel, chain.key())
        })
    }
}

/// A worker in a process of its own, which has learnt the peer that it must connect to.
pub struct HomeMaker {
    home: Arc<Home>,
    meeting: MakerMeeting,
}

impl HomeMaker {
    /// Receives from the coordinator the peer that this maker meets.
    ///
    /// # Errors
    /// [`Error::Io`] if the coordinator has gone away, or sends another message.
    pub fn hear(mut channel: Channel) -> Result<Self, Error> {
        match told(&mut channel)? {
            Told::Meet(meeting) => {
                Ok(HomeMaker { home: Arc::new(Home { channel: Mutex::new(channel) }), meeting })
            }
            _ => Err(broken("the coordinator did not name the peer that this maker must connect to")),
        }
    }

    /// Returns the data about the peer to meet.
    pub fn meeting(&self) -> &MakerMeeting {
        &self.meeting
    }

    /// Tells the coordinator that the maker has no connection with the peer. Returns the reason.
    pub fn gives_up(self, why: Error) -> Error {
        let said = self.home.with(|channel| {
            say(channel, &Said::Ended(Word::of(&why)))?;
            channel.flush()
        });
        if let Err(error) = said {
            tracing::debug!("the coordinator did not receive the report: {error}");
        }
        why
    }

    /// Meets the peer's worker on a connection, and makes shares of steps until the coordinator has no more.
    /// `decode` reads a step from the form of
    /// [`PreprocessingStep::encoded`](super::super::PreprocessingStep::encoded). Returns the number of shares
    /// that it made.
    ///
    /// # Errors
    /// [`Error::Peer`] if the peer cheats; the coordinator has then burned the epoch, or will burn it if it
    /// has gone away. [`Error::Io`] if the peer or the coordinator goes away, [`Error::Mismatch`] if the peer
    /// has another purpose.
    pub fn works<P: StockProtocol, O>(
        self,
        (run, carried): (Metered, P::Carried),
        terms: &Terms,
        decode: impl Fn(&[u8]) -> Result<O, Error>,
        step: impl for<'s> Fn(&'s O) -> P::FillStep<'s>,
    ) -> Result<u32, Error> {
        let MakerMeeting { of, number, session, .. } = self.meeting;
        let greeted =
            greet_one::<P>(run, carried, terms, (&session, of as usize), number).and_then(Greeted::answered);
        let (number, mut lane) = match greeted {
            Ok(greeted) => greeted,
            Err(error) => return Err(self.gives_up(error)),
        };
        let HomeMaker { home, .. } = self;
        home.say(&Said::Greeted { number })?;
        let mut made = 0;
        loop {
            let share = match home.with(told)? {
                Told::Share(share) => share,
                Told::End => break,
                _ => return Err(broken("the coordinator sent a message out of order")),
            };
            lane = one(&home, lane, terms, &share, &decode, &step)?;
            made += 1;
        }
        let phases = lane.line.release().0.finish()?;
        let took = phases.into_iter().map(|phase| {
            (phase.name.into(), phase.seconds, [phase.garbler_sent_bytes, phase.evaluator_sent_bytes])
        });
        home.with(|channel| {
            say(channel, &Said::Phases(took.collect()))?;
            channel.flush()
        })?;
        Ok(made)
    }
}

/// Makes one share. The connection with the peer closes after the coordinator has recorded how the share
/// ended.
fn one<P: StockProtocol, O>(
    home: &Arc<Home>,
    lane: WorkerEnd<P>,
    terms: &Terms,
    share: &Share,
    decode: &impl Fn(&[u8]) -> Result<O, Error>,
    step: &impl for<'s> Fn(&'s O) -> P::FillStep<'s>,
) -> Result<WorkerEnd<P>, Error> {
    let (asked, secrets) = home.with(|channel| {
        let asked = receive_secret(channel, share.step_bytes, MAX_SENT_BYTES)?;
        Ok((asked, receive_secret(channel, share.secrets_bytes, MAX_SENT_BYTES)?))
    })?;
    let (stop, mut held) = (Stop::new(), Some(lane));
    let made = std::thread::scope(|scope| {
        let (over, ended) = signal::<()>();
        scope.spawn(|| {
            let ended = ended;
            home.asks(&stop, &ended);
        });
        // When this is dropped, the asking thread ends, even after a panic.
        let _over = over;
        stop.enter(|| {
            let owned = decode(&asked)?;
            let asked = step(&owned);
            if (asked.request(), asked.parameters()) != (share.request, share.parameters) {
                return Err(Error::Mismatch(
                    "this maker understands the step differently than its coordinator; install the same \
                     release for both"
                        .into(),
                ));
            }
            let lane = held.take().ok_or_else(|| broken("this maker has no connection with the peer"))?;
            let secrets = || {
                postcard::from_bytes(&secrets).map_err(|_| broken("the coordinator sent malformed secrets"))
            };
            let lane = held.insert(lane.entered(&share.epoch, terms, secrets)?);
            let worker = share.worker as usize;
            lane.meets("brickwork 2026-11 stock share", &share.head, worker, &asked)?;
            let shelf = NewItemsPlace::Elsewhere(home.clone());
            make_share(&shelf, lane.session()?, Ranges::lent(share.number)?, &asked)?;
            match home.ask(&Said::Stored)? {
                Told::Durable => {}
                Told::Stop => return Err(std::io::Error::from(Stopped).into()),
                _ => return Err(broken("the coordinator sent a message out of order")),
            }
            lane.meets("brickwork 2026-11 stock share stored", &share.head, worker, &asked)
        })
    });
    let last = match &made {
        Ok(()) => Said::Made,
        Err(error) => Said::Ended(Word::of(error)),
    };
    let heard = home.ask(&last);
    made?;
    match (heard?, held) {
        (Told::Heard, Some(lane)) => Ok(lane),
        _ => Err(broken("the coordinator sent a message out of order")),
    }
}
