//! A party's session in a protocol that needs only correlated OTs with one offset. It begins with the
//! greeting, and with 128 base OTs in which the garbler chooses by the bits of its offset.

use zeroize::Zeroizing;

use crate::stock::ots::OtEnd;
use crate::{Digests, Greeting, Metered, PhaseReport, SessionId, SessionProtocol, Terms};
use brickwork_base::label::Delta;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_primitives::ot::base::{BegunSeries, Direction};
use brickwork_primitives::ot::{BASE_OTS, CotSender, Series, extension};

/// A party's session. `C` is its end of the correlated OTs, and `D` its data of the program that runs.
pub struct PlainSession<C, D> {
    /// The connection.
    pub run: Metered,
    /// The session's identifier.
    pub id: SessionId,
    /// This party's source of randomness.
    pub rng: Rng,
    /// This party's end of the OTs.
    pub cot: C,
    /// The data of the program that runs.
    pub program: D,
}

impl<C: OtEnd, D> PlainSession<C, D> {
    /// Sets up a session. Computes the data of the program before it waits for the peer.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer requests something else. [`Error::Peer`] if it sends a message that is
    /// not of the protocol. [`Error::Io`] if it closes the connection.
    pub fn set_up<P: SessionProtocol>(
        mut run: Metered,
        terms: &Terms,
        digests: &Digests,
        program: impl FnOnce() -> D,
    ) -> Result<Self, Error> {
        run.phase("setup");
        let mut rng = Rng::new("brickwork session of correlated OTs")?;
        let (side, sent) = match run.role {
            Party::Garbler => (Direction::GarblerSends, 0),
            Party::Evaluator => (Direction::EvaluatorSends, BASE_OTS),
        };
        let delta = (run.role == Party::Garbler).then(|| Zeroizing::new(rng.delta()));
        let bits = |delta: &Delta| (0..BASE_OTS).map(|i| (delta.bits() >> i) as u8 & 1).collect();
        let choices: Zeroizing<Vec<u8>> = Zeroizing::new(delta.as_deref().map_or_else(Vec::new, bits));
        let greeting = Greeting::send::<P>(&mut run.channel, run.role, terms, digests)?;
        let begun = BegunSeries::send(
            &mut run.channel,
            side,
            &greeting.digest(),
            &choices,
            terms.post_quantum,
            terms.threads,
        )?;
        let program = program();
        let answer = run.answer(greeting)?;
        let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, sent)?;
        let series = Series::new(&answer.session, Direction::GarblerSends);
        let cot = C::set_up(&mut run.channel, &series, delta.as_deref(), &keys)?;
        Ok(PlainSession { run, id: answer.session, rng, cot, program })
    }
}

impl<C, D> PlainSession<C, D> {
    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection has ended.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

impl<D> PlainSession<extension::Sender, D> {
    /// Returns the offset of the garbler's OTs, which is also the offset of all labels.
    pub fn delta(&self) -> Zeroizing<Delta> {
        Zeroizing::new(Delta::new(CotSender::offset(&self.cot).bits()))
    }
}
