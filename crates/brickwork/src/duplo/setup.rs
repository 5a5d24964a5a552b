//! Setup: base OTs, the commitments' seeds, and commitments to the two offsets that last for the session.
//!
//! ```text
//!   both ways               128 base OTs: the extension's seeds by the bits of G's Δ_ot
//!   evaluator -> garbler    OT extension: the commitments' seeds by E's watch bits;  the check both ways
//!   garbler -> evaluator    commitments to Δ_ka (random, lowest bit 1) and Δ_ot;  S_ot = Δ_ot ⊕ Δ_ka
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer
//! ```
//!
//! DEVIATION: FJNT16 take the commitments' seeds from base OTs, of which there would be 275 to 429; from the extension that
//! is needed anyway they cost next to nothing, and setup a third (measured: docs/benchmarks.md).
//!
//! Without the link S_ot, whose lowest bit must be 0, an evaluator could not use its OT labels on authenticators, and
//! `lsb(Δ_ot)` would not be bound.

use super::parameters::{code, ot_binding};
use super::stock::Stock;
use super::{Cheat, Error, Evaluator, Garbler, Hooks, Point, Terms, msg, threads};
use crate::circuit::Party;
use crate::commit::split::{Receiver, Sender};
use crate::commit::{Claims, Committer, Holder, Lsb, Shares};
use crate::label::{Delta, Label};
use crate::ot::{base, extension};
use crate::random::Rng;
use crate::session::{Digests, Run, handshake};

/// Claims: the commitments to Δ_ot and Δ_ka add up to S_ot; Δ_ka ends in 1. (That a commitment ends in 1 is only built into
/// the one coordinate of the lowest bit, and one guessed watch bit gets around that.) `delta_ka` is what each party may
/// say of it: the garbler the value, the evaluator the bit.
fn claims<'a>(ka: &'a Shares, ot: &'a Shares, link: Label, delta_ka: Label) -> Claims<'a> {
    let mut claims = Claims::new();
    claims.known(1, move |_, sum| {
        ka.add(0, sum);
        ot.add(0, sum);
        link
    });
    claims.bits(1, move |_, sum| {
        ka.add(0, sum);
        delta_ka
    });
    claims
}

pub(super) fn garbler<'o>(mut run: Run<'o>, terms: &Terms, digests: &Digests, mut hooks: Hooks) -> Result<Garbler<'o>, Error> {
    let pool = threads(terms)?;
    let code = code(terms.security)?;
    let session = handshake(&mut run.channel, Party::Garbler, terms, digests)?;
    run.phase("setup")?;
    let mut rng = Rng::new("brickwork garbler")?;
    let delta_ot = rng.delta();
    let in_ots = Delta::new(hooks.altered(Point::OtOffset, &[delta_ot.label()])[0].bits());
    let choices: Vec<u8> = (0..128).map(|i| (in_ots.bits() >> i) as u8 & 1).collect();
    let keys = match hooks.dealt(Party::Garbler, 0, &choices) {
        Some(dealt) => dealt,
        None => base::garbler(&mut run.channel, &session, 0, &choices, terms.threads)?,
    };
    let mut cot = extension::Sender::new(&session, in_ots, &keys.received)?;
    let mut committer = Sender::new(code, &cot.keys(&mut run.channel, code.length())?);
    let mut ka = committer.commit_random(&mut run.channel, 1, Lsb::One)?;
    hooks.alter(Point::KaOffset, &mut ka.values);
    let ot = committer.commit(&mut run.channel, &hooks.altered(Point::CommittedOtOffset, &[delta_ot.label()]))?;
    let link = ka.values[0] ^ ot.values[0];
    run.channel.send(msg::LINK_OT, &link.to_bytes())?;
    committer.prove(&mut run.channel, &[&ka, &ot], &claims(&ka.shares, &ot.shares, link, ka.values[0]))?;
    let delta_ka = Delta::new(ka.values[0].bits());
    let (stock, security, binding) = (Stock::new(), terms.security, ot_binding(terms.security));
    Ok(Garbler {
        run,
        pool,
        session,
        security,
        committer,
        rng,
        hooks,
        cot,
        delta_ka,
        ka,
        ot,
        binding,
        gadgets: 0,
        serial: 0,
        used: false,
        stock,
    })
}

pub(super) fn evaluator<'o>(mut run: Run<'o>, terms: &Terms, digests: &Digests, hooks: Hooks) -> Result<Evaluator<'o>, Error> {
    let pool = threads(terms)?;
    let code = code(terms.security)?;
    let session = handshake(&mut run.channel, Party::Evaluator, terms, digests)?;
    run.phase("setup")?;
    let mut rng = Rng::new("brickwork evaluator")?;
    let mut watch_bits = zeroize::Zeroizing::new(vec![0u8; code.length()]);
    rng.fill(&mut watch_bits);
    watch_bits.iter_mut().for_each(|b| *b &= 1);
    let keys = match hooks.dealt(Party::Evaluator, 128, &[]) {
        Some(dealt) => dealt,
        None => base::evaluator(&mut run.channel, &session, 128, &[], terms.threads)?,
    };
    let mut cot = extension::Receiver::new(&session, &keys.sent)?;
    let mut holder = Receiver::new(code, &cot.keys(&mut run.channel, &watch_bits)?, &watch_bits)?;
    let ka = holder.receive_random(&mut run.channel, 1, Lsb::One)?;
    let ot = holder.receive(&mut run.channel, 1)?;
    let link_ot = run.label(msg::LINK_OT)?;
    if link_ot.colour() != 0 {
        return Err(Cheat::LinkColour.into());
    }
    let proof = holder.verify(&mut run.channel, &[&ka, &ot], &claims(ka.shares(), ot.shares(), link_ot, Label::from_bits(1)))?;
    let (ka, ot) = (ka.accept(&proof), ot.accept(&proof));
    let (stock, security, binding) = (Stock::new(), terms.security, ot_binding(terms.security));
    Ok(Evaluator {
        run,
        pool,
        session,
        security,
        holder,
        rng,
        hooks,
        cot,
        ka,
        ot,
        link_ot,
        binding,
        gadgets: 0,
        serial: 0,
        used: false,
        stock,
    })
}
