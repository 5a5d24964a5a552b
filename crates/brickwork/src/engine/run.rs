//! A party's run, from the meeting to the outputs.

use std::time::Duration;

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::Party;
use brickwork_store::Store;
use brickwork_wire::Channel;
use brickwork_wire::tls::{self, EndpointOptions, Identity, Listener, Met, PublicKey};

use super::Observe;
use super::meeting::{MAX_SHEET_BYTES, SHEET, Sheet, refuse};
use super::protocols::{self, PreparedRun, RunResult};
use super::report::Report;
use super::ways::{RunPart, Ways};
use super::work::PartyWork;
use crate::failure::Error;
use crate::maker::next_of;
use crate::resources::{cpu_seconds, peak_rss_bytes};

/// The way in which a party reaches its peer.
pub enum Route<'p> {
    /// This party listens.
    Listener(&'p Listener),
    /// The peer listens at this address.
    Peer {
        /// The address.
        address: &'p str,
        /// This party's key.
        identity: &'p Identity,
        /// The peer's key.
        peer: PublicKey,
        /// The number of connections and the timeout.
        options: EndpointOptions,
    },
    /// A connection that the caller made. It is `None` after its use.
    Line(Option<Channel>),
}

impl Route<'_> {
    /// Meets a peer and exchanges the sheets. A listener waits for a peer. With `keep`, a peer whose
    /// connection fails does not end the waiting.
    fn meet(&mut self, sheet: &Sheet, keep: bool) -> Result<Met, Error> {
        self.exchange(&sheet.encoded(), keep)
    }

    /// Meets a peer that wants the same session, which this digest describes.
    ///
    /// # Errors
    /// A mismatch if the peer wants another session, or only compares.
    pub fn meet_alike(&mut self, digest: &[u8]) -> Result<Channel, Error> {
        let mut met = self.exchange(digest, false)?;
        if !met.visits && met.sheet == digest {
            return Ok(met.channel);
        }
        let why = "the two parties have different sessions; compare the programs, the protocol and the \
                   security on both sides";
        refuse(&mut met.channel, why.to_owned().into()).map_err(Error::from)
    }

    /// Waits for the peer, or connects to it, to make stock.
    ///
    /// # Errors
    /// Those of the network; an error of usage if the caller's connection was used before.
    pub(crate) fn first(&mut self) -> Result<Channel, Error> {
        match self {
            Route::Listener(listener) => Ok(listener.accept()?),
            Route::Line(line) => line
                .take()
                .ok_or_else(|| Error::fault("this connection was already used for a run; make a new one")),
            Route::Peer { .. } => Ok(self.next(Duration::ZERO)?),
        }
    }

    /// Makes another connection to the peer, which must connect within this time.
    ///
    /// # Errors
    /// As [`Route::first`].
    pub(crate) fn next(&mut self, timeout: Duration) -> Result<Channel, ProtocolError> {
        match self {
            Route::Listener(listener) => next_of(listener, timeout),
            Route::Peer { address, identity, peer, options } => {
                tls::connect(address, identity, *peer, options)
            }
            Route::Line(_) => {
                Err(ProtocolError::Usage("a connection of the caller's is one connection".into()))
            }
        }
    }

    fn exchange(&mut self, sheet: &[u8], keep: bool) -> Result<Met, Error> {
        Ok(match self {
            Route::Listener(listener) => loop {
                match listener.meet(sheet, None) {
                    Err(e) if keep && is_refused(&e) => say_refused(&e),
                    met => break met?,
                }
            },
            Route::Peer { address, identity, peer, options } => {
                tls::meet(address, identity, *peer, options, sheet)?
            }
            Route::Line(line) => {
                let mut channel = line.take().ok_or_else(|| {
                    Error::fault("this connection was already used for a run; make a new one")
                })?;
                channel.send(SHEET, sheet)?;
                channel.flush()?;
                let sheet = channel.receive_up_to(SHEET, MAX_SHEET_BYTES)?;
                Met { channel, sheet, visits: false }
            }
        })
    }
}

/// Returns whether the error was a refusal, after which the peer may change its run and come again.
fn is_refused(error: &ProtocolError) -> bool {
    matches!(error, ProtocolError::Mismatch(_) | ProtocolError::Io(_))
}

fn say_refused(why: &ProtocolError) {
    tracing::warn!("refused the peer: {why}; waiting until the peer connects again");
}

/// The result of a run at one party.
pub struct PartyRun {
    /// The bits of this party's outputs.
    pub outputs: Vec<bool>,
    pub report: Report,
    /// The digest of all executions of the program.
    pub program: [u8; 32],
    /// True if the evaluator recovered from a cheat. This depends on the evaluator's input, so only the
    /// notes about recovery may show it.
    pub recovered: bool,
}

/// The result of serving peers.
enum Served {
    Done(Box<RunResult>, f64),
    /// The peer and this party settled on another protocol, with this index.
    Other(usize, Box<Met>),
}

/// Runs a party. The party connects to the peer, settles the protocol, compares both parties' descriptions of
/// the run, and runs the protocol on its input. There is a store if the request names one. With `keep`, a
/// listener refuses a peer that does not fit and waits for another peer.
///
/// # Errors
/// Those of the meeting and of the protocol.
pub fn run(
    part: &RunPart,
    store: Option<Store>,
    mut place: Route,
    keep: bool,
    input: &[bool],
    watch: &Observe,
) -> Result<PartyRun, Error> {
    let ways = part.ways(store.as_ref())?;
    let play = Runner { part, ways: &ways, keep, input, watch };
    let (mut way, mut met) = match (part.party, ways.requests.len()) {
        (Party::Garbler, _) | (_, 1) => (0, None),
        // An evaluator that accepts several protocols gets ready only when it knows the garbler's choice.
        _ => {
            let (way, met) = play.first(&mut place)?;
            (way, Some(met))
        }
    };
    loop {
        let request = &ways.requests[way];
        let protocol = request.parameters.protocol;
        if part.warns {
            protocols::warn(protocol);
        }
        let work = part.work(request)?;
        let mut ready = protocols::played(protocol).ready(&work, store.clone())?;
        match play.on(&work, &mut *ready, (way, met.take()), &mut place)? {
            Served::Done(done, cpu_seconds) => {
                let reason = match (part.party, way, ways.requests.len()) {
                    (.., 1) | (Party::Garbler, 0, _) => ways.reason,
                    _ => Some("the first in which both parties take part".into()),
                };
                let program = work.job.program.digest();
                let post_quantum = request.parameters.post_quantum;
                let RunResult { outputs, phases, promise, predicted, cut, and_gates, recovered, made } =
                    *done;
                let report = Report {
                    phases,
                    // The prediction is for base OTs from an elliptic curve.
                    predicted: predicted.filter(|_| !post_quantum),
                    promise,
                    cut,
                    and_gates,
                    protocol,
                    protocol_reason: reason,
                    post_quantum,
                    made_on_the_spot: made,
                    cpu_seconds: Some(cpu_seconds),
                    peak_rss_bytes: Some(peak_rss_bytes()),
                };
                return Ok(PartyRun { outputs, report, program, recovered });
            }
            Served::Other(other, peer) => (way, met) = (other, Some(*peer)),
        }
    }
}

/// A party that runs one of several protocols, independent of the kind of connection.
struct Runner<'a> {
    part: &'a RunPart<'a>,
    ways: &'a Ways,
    keep: bool,
    input: &'a [bool],
    watch: &'a Observe<'a>,
}

impl Runner<'_> {
    /// Meets the first peer that accepts one of this party's protocols. Returns the index of the settled
    /// protocol.
    fn first(&self, place: &mut Route) -> Result<(usize, Met), Error> {
        let sheet = self.ways.sheet(self.part, None, false)?;
        loop {
            let mut met = place.meet(&sheet, self.keep)?;
            match sheet.settled(&met.sheet) {
                Ok(way) => return Ok((way, met)),
                Err(why) => match refuse::<()>(&mut met.channel, why.into()) {
                    Err(e) if self.keep => say_refused(&e),
                    refused => refused?,
                },
            }
        }
    }

    /// Serves peers with a party that is ready for one protocol, until a run has ended or a peer settles on
    /// another protocol. Visits are answered. When this returns for another protocol, nothing has begun and
    /// nothing that depends on a secret was sent.
    fn on(
        &self,
        work: &PartyWork,
        ready: &mut dyn PreparedRun,
        (way, mut first): (usize, Option<Met>),
        place: &mut Route,
    ) -> Result<Served, Error> {
        let sheet = self.ways.led_by(way).sheet(self.part, ready.offer(), false)?;
        // A sheet contains the proposal for its first protocol, so this sheet is used only for the first
        // protocol.
        let shown = if way == 0 { &sheet } else { &self.ways.sheet(self.part, None, false)? };
        loop {
            let mut met = match first.take() {
                Some(met) => met,
                None => place.meet(shown, self.keep)?,
            };
            match shown.settled(&met.sheet) {
                Ok(settled) if settled != way => return Ok(Served::Other(settled, Box::new(met))),
                Ok(_) => match sheet.proposes_again(shown, &mut met) {
                    Err(e) if self.keep && is_refused(&e) => {
                        say_refused(&e);
                        continue;
                    }
                    told => told?,
                },
                // The comparison below tells both parties the difference.
                Err(_) => {}
            }
            if met.visits {
                match ready.compare(&sheet, &mut met) {
                    Ok(same) => tracing::info!("the peer compared its run with this party's: {same}"),
                    Err(e) => tracing::warn!("the peer compared its run with this party's: {e}"),
                }
                continue;
            }
            match work.agree_to_run(&sheet, &mut met) {
                Ok(Some(cot)) => ready.settle(cot)?,
                Ok(None) => {}
                Err(e) if self.keep && is_refused(&e) => {
                    say_refused(&e);
                    continue;
                }
                Err(e) => return Err(e.into()),
            }
            let before = cpu_seconds();
            match ready.run(met.channel, self.input, self.watch) {
                // Either the peer did not agree, or the stores are no pair, which both parties see before
                // either takes or burns an item. Any other error of a store also concerns this party's own
                // store and ends the waiting.
                Err(e @ (ProtocolError::Refused(_) | ProtocolError::Strangers(_))) if self.keep => {
                    say_refused(&e)
                }
                result => return Ok(Served::Done(Box::new(result?), cpu_seconds() - before)),
            }
        }
    }
}
