//! A peer that proposes parameters in its greeting, although the parties meet with stores.

use brickwork::ProtocolError as Error;
use brickwork::engine::protocols::played;
use brickwork::engine::stocked::{Stocked, UngreetedConnection};
use brickwork::ot::Cot;
use brickwork::protocol::{GREETING_BYTES, Unobserved};
use brickwork::wire::memory_pair;
use brickwork::{ErrorKind, Protocol};
use brickwork_harness::stores::{BOTH, Stores, terms};

/// The place of the proposal's digest in a greeting.
const PROPOSAL: std::ops::Range<usize> = 48..80;

/// A party with a store refuses a greeting with a proposal, in every protocol and both roles, and keeps
/// nothing of the meeting. Without the proposal the same parties meet.
#[test]
fn a_proposal_is_refused_in_every_protocol() {
    for protocol in Protocol::all() {
        assert!(played(protocol).stocks().is_some(), "{protocol} keeps a stock");
        for cheater in BOTH.into_iter().map(Some).chain([None]) {
            let stores = Stores::empty();
            let met = stores.meet(memory_pair(), [(), ()], |party, store, mut channel, ()| {
                if Some(party) == cheater {
                    channel.set_tamper(Box::new(|_, message| {
                        if message.len() == GREETING_BYTES && message.starts_with(b"BRWK") {
                            message[PROPOSAL].fill(1);
                        }
                    }));
                }
                let (terms, cot) = (&terms(), Cot::default());
                let opening = UngreetedConnection {
                    party,
                    channel,
                    store,
                    terms,
                    cot,
                    watch: &|_| Box::new(Unobserved),
                };
                let met = Stocked::open(protocol, opening).and_then(Stocked::close);
                Ok::<_, Error>(met.map(drop).map_err(|error| (error.kind(), error.message().to_owned())))
            });
            for (party, met) in BOTH.into_iter().zip(met.map(Result::unwrap)) {
                match cheater {
                    None => assert_eq!(met, Ok(()), "{protocol}"),
                    Some(cheater) if cheater == party => assert!(met.is_err(), "{protocol}"),
                    Some(_) => {
                        let (kind, why) = met.unwrap_err();
                        assert!(
                            kind == ErrorKind::Mismatch && why.contains("malformed"),
                            "{protocol}: {why}"
                        );
                        assert!(stores.store(party).epochs().unwrap().is_empty(), "{protocol}");
                    }
                }
            }
        }
    }
}
