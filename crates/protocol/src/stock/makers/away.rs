//! The coordinator's end of the connection: it gives a maker its tasks, and stores the stock that the maker
//! sends.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Instant;

use super::super::side::PreprocessingStep;
use super::super::stocked::burn_if_cheated;
use super::*;
use crate::PhaseReport;
use brickwork_base::stop::Stop;
use brickwork_store::{BatchWriter, Chain, MAX_RECORD_BYTES, Ranges, Store, encoded_secret, number_of};

/// A maker of this party, at the other end of a connection within the party.
pub(in super::super) struct Away {
    channel: Channel,
    /// The epoch whose secrets the maker has.
    has: Option<EpochId>,
}

/// How a maker's share of a step ended without success.
pub(in super::super) enum Ended {
    Made,
    /// The maker reported why it did not make the share.
    Said(Error),
    /// The maker sent no report, or a message that cannot be trusted.
    Lost(Error),
}

impl Away {
    /// Tells a maker which peer it must connect to.
    pub fn hire(
        mut channel: Channel,
        protocol: &str,
        role: Party,
        [number, of]: [usize; 2],
        session: &SessionId,
        terms: &Terms,
    ) -> Result<Self, Error> {
        let meeting = MakerMeeting {
            role,
            protocol: protocol.into(),
            of: of as u32,
            number: number as u32,
            session: *session,
            security: terms.security,
            identities: terms.identities,
            post_quantum: terms.post_quantum,
            table_memory: terms.table_memory / of as u64,
        };
        tell(&mut channel, &Told::Meet(meeting))?;
        Ok(Away { channel, has: None })
    }

    /// Receives the number of the worker, which the maker learnt when it greeted the peer.
    pub fn greeted(&mut self) -> Result<u32, Error> {
        match said(&mut self.channel)? {
            Said::Greeted { number } => Ok(number),
            Said::Ended(word) => Err(word.into_error()),
            _ => Err(broken("the maker did not report the result of its greeting")),
        }
    }

    /// Tells the maker to make a share of a step that began with the log entry of this head. From this moment
    /// on, only the maker uses `ranges`.
    pub fn make(
        &mut self,
        store: &Store,
        epoch: &EpochId,
        (head, worker): (&LogHead, usize),
        ranges: Ranges,
        asked: &impl PreprocessingStep,
        stop: &Stop,
    ) -> Ended {
        let told = || -> Result<_, Error> {
            let step = asked.encoded()?;
            let secrets = match self.has {
                Some(has) if has == *epoch => Zeroizing::default(),
                _ => encoded_secret(&store.secrets(epoch)?),
            };
            if step.len().max(secrets.len()) as u64 > MAX_SENT_BYTES {
                return Err(Error::Limit("the share is too large to be sent to a maker".into()));
            }
            let share = Share {
                epoch: *epoch,
                head: *head,
                worker: worker as u32,
                number: ranges.lend()?,
                request: asked.request(),
                parameters: asked.parameters(),
                step_bytes: step.len() as u64,
                secrets_bytes: secrets.len() as u64,
            };
            Ok((share, step, secrets))
        };
        // The maker cannot begin before it has the whole message.
        let (share, step, secrets) = match told() {
            Ok(told) => told,
            Err(error) => return Ended::Said(error),
        };
        let number = share.number;
        self.has = Some(*epoch);
        let sent = tell(&mut self.channel, &Told::Share(share))
            .and_then(|()| self.channel.send(msg::BYTES, &step).map_err(within))
            .and_then(|()| send_secret(&mut self.channel, &secrets));
        drop(secrets);
        let mut taking = Taking::new(store, epoch, number);
        match sent.and_then(|()| self.hear(&mut taking, stop)) {
            Ok(None) => Ended::Made,
            Ok(Some(word)) => self.ended(taking, word),
            Err(error) => Ended::Lost(error),
        }
    }

    /// Receives messages from a maker until it has made its share, or reports why it did not.
    fn hear(&mut self, taking: &mut Taking<'_>, stop: &Stop) -> Result<Option<Word>, Error> {
        let (mut since, mut durable) = (None, false);
        loop {
            let ends = stop.is_asked() || taking.failed.is_some();
            if ends && since.get_or_insert_with(Instant::now).elapsed() > STOPPING {
                return Err(broken("the maker did not stop in time"));
            }
            match said(&mut self.channel)? {
                Said::Alive => tell(&mut self.channel, if ends { &Told::Stop } else { &Told::GoOn })?,
                Said::Ended(word) => return Ok(Some(word)),
                Said::Made if durable => {
                    tell(&mut self.channel, &Told::Heard)?;
                    return Ok(None);
                }
                _ if durable => return Err(broken("the maker sent a message after its last one")),
                Said::Stored if ends => tell(&mut self.channel, &Told::Stop)?,
                Said::Stored if taking.open.is_empty() && taking.finished > 0 => {
                    durable = true;
                    tell(&mut self.channel, &Told::Durable)?;
                }
                said => taking.take(&mut self.channel, said)?,
            }
        }
    }

    /// Records the maker's report, before the maker closes its connection with the peer.
    fn ended(&mut self, taking: Taking<'_>, word: Word) -> Ended {
        let Err(error) = burn_if_cheated::<Infallible>(taking.store, taking.epoch, Err(word.into_error()));
        if let Err(gone) = tell(&mut self.channel, &Told::Heard) {
            tracing::debug!("a maker closed its connection after its last report: {gone}");
        }
        // If writing to this party's store failed, this failure is the reason why the maker had to stop.
        match (error, taking.failed) {
            (error, None) | (error @ Error::Peer(_), _) => Ended::Said(error),
            (_, Some(failed)) => Ended::Said(failed),
        }
    }

    /// Closes the connection to the maker. Returns the time and the bytes of each phase.
    pub fn close(mut self, phases: &'static [&'static str]) -> Result<Vec<PhaseReport>, Error> {
        tell(&mut self.channel, &Told::End)?;
        let Said::Phases(took) = said(&mut self.channel)? else {
            return Err(broken("the maker did not report the times of its phases"));
        };
        let known = |(name, seconds, [garbler, evaluator]): (String, f64, [u64; 2])| {
            let name = (*phases.iter().find(|phase| **phase == name)?).into();
            let (garbler_sent_bytes, evaluator_sent_bytes) = (garbler, evaluator);
            Some(PhaseReport { name, seconds, garbler_sent_bytes, evaluator_sent_bytes, spans: Vec::new() })
        };
        Ok(took.into_iter().filter_map(known).collect())
    }
}

/// Plays the coordinator for the fuzz target: receives the messages of a maker that has a share with this
/// number, and writes them into the store. Returns the maker's report, if it has not made its share.
///
/// # Errors
/// [`Error::Io`] if the connection ends, or a message comes that no maker sends.
pub fn heard(channel: Channel, store: &Store, epoch: &EpochId, number: u64) -> Result<Option<Error>, Error> {
    let mut away = Away { channel, has: None };
    let mut taking = Taking::new(store, epoch, number);
    let Some(word) = away.hear(&mut taking, &Stop::new())? else { return Ok(None) };
    match away.ended(taking, word) {
        Ended::Made => Ok(None),
        Ended::Said(error) => Ok(Some(error)),
        Ended::Lost(error) => Err(error),
    }
}

/// The data of a maker's share, while it is written into the store.
struct Taking<'s> {
    store: &'s Store,
    epoch: &'s EpochId,
    /// The number of the log entry in whose range all serials lie.
    number: u64,
    open: BTreeMap<Serial, (BatchWriter, Option<Bulk>)>,
    finished: usize,
    /// A buffer for a part of the bulk data.
    part: Vec<u8>,
    /// The reason why no more data is stored. The maker is then told to stop. Its messages are read until it
    /// has stopped.
    failed: Option<Error>,
}

impl<'s> Taking<'s> {
    fn new(store: &'s Store, epoch: &'s EpochId, number: u64) -> Self {
        Taking { store, epoch, number, open: BTreeMap::new(), finished: 0, part: Vec::new(), failed: None }
    }

    /// Stores one part of a share. If the maker may not send this message, the result is an error. If writing
    /// to this party's store fails, the failure is kept in `failed`.
    fn take(&mut self, channel: &mut Channel, said: Said) -> Result<(), Error> {
        match said {
            Said::Begin { serial, bulk } => {
                let is_new = !self.open.contains_key(&serial) && self.open.len() < MAX_OPEN;
                let open = self.open.values().filter_map(|(_, bulk)| bulk.as_ref()).map(Bulk::records);
                let room = MAX_RECORDS - open.sum::<u64>();
                let fits = bulk.is_none_or(|bulk| bulk.is_within(room));
                if number_of(serial) != self.number || !is_new || !fits {
                    return Err(broken("the maker began a batch that does not belong to its share"));
                }
                let writer = self.store.writers(self.epoch).begin(serial, bulk);
                let begun = self.kept(writer).map(|writer| (serial, (writer, bulk)));
                self.open.extend(begun);
                Ok(())
            }
            Said::Bulk { serial, first, at, bytes } => {
                let most = match self.open.get(&serial) {
                    Some((_, Some(bulk))) => u64::from(bulk.units) * bulk.unit_bytes,
                    Some((_, None)) => 0,
                    None => MAX_RECORD_BYTES as u64,
                };
                if bytes > most.min(MAX_RECORD_BYTES as u64) {
                    return Err(too_much());
                }
                // The data comes from the peer and is not secret, so the buffer can be used again without
                // erasing it.
                let mut part = std::mem::take(&mut self.part);
                part.resize(part.len().max(bytes as usize), 0);
                channel.receive_into(msg::BYTES, &mut part[..bytes as usize]).map_err(within)?;
                let written = self.with(serial, |writer| writer.put(first, at, &mut part[..bytes as usize]));
                self.part = part;
                written
            }
            Said::Record { serial, first, items, bytes } => {
                let record = receive_secret(channel, bytes, MAX_RECORD_BYTES as u64)?;
                self.with(serial, |writer| writer.record(first, items, record))
            }
            Said::Finish { serial, batch } => {
                let key = receive_secret(channel, KEY_BYTES, KEY_BYTES)?;
                let chain = Chain::of(key.first_chunk().ok_or_else(too_much)?);
                let Some((writer, _)) = self.open.remove(&serial) else { return self.unknown() };
                let put = self.store.put(self.epoch, serial, &batch, writer, &chain);
                self.finished += usize::from(self.kept(put).is_some());
                Ok(())
            }
            _ => Err(broken("the maker sent a message out of order")),
        }
    }

    fn with(
        &mut self,
        serial: Serial,
        write: impl FnOnce(&mut BatchWriter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some((writer, _)) = self.open.get_mut(&serial) else { return self.unknown() };
        let written = write(writer);
        let _ = self.kept(written);
        Ok(())
    }

    /// Handles a part of a batch that has no writer. If writing to this party's store failed before, the
    /// writer was dropped, and the maker is not to blame.
    fn unknown(&self) -> Result<(), Error> {
        match self.failed {
            Some(_) => Ok(()),
            None => Err(broken("the maker sent a part of a batch that it had not begun")),
        }
    }

    fn kept<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(done) => Some(done),
            Err(error) => {
                self.open.clear();
                self.failed.get_or_insert(error);
                None
            }
        }
    }
}
