//! The secrets from which another process resumes a session: its seeds, its offsets, and the evaluator's
//! watch bits. They are kept while there is stock that was made with them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::hooks::Hooks;
use crate::instance::level;
use crate::memory::openings_memory;
use crate::parameters::stock_ot_binding;
use crate::party::EvaluatorCore;
use crate::setup::window;
use crate::stock::PartyStock;
use crate::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_primitives::commit::{self, Committed, Receiver as _, Sender as _, Shares};
use brickwork_primitives::counters::Counters;
use brickwork_primitives::ot::{self, CotReceiver as _, CotSender as _, Direction, Series};
use brickwork_protocol::{Metered, SessionId, Terms};
use brickwork_store::EpochSecrets;

const VERSION: u32 = 1;

/// A committed value, and this party's share.
type CommittedBits = (u128, Vec<u64>);

/// A garbler's secrets, except the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct OfGarbler<C: Zeroize> {
    version: u32,
    session: SessionId,
    commitments: C,
    /// The bits of Δ_ot.
    delta_ot: u128,
    /// The committed values and the shares of Δ_ka and Δ_ot.
    ka: CommittedBits,
    ot: CommittedBits,
}

/// An evaluator's secrets, except the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct OfEvaluator<C: Zeroize> {
    version: u32,
    session: SessionId,
    commitments: C,
    ka: Vec<u64>,
    ot: Vec<u64>,
    ot_delta_difference: u128,
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|_| malformed())
}

fn malformed() -> Error {
    Error::Stock("the secrets of a session are malformed, or another version wrote them".into())
}

impl<C: commit::CommitmentScheme> Garbler<C> {
    pub(super) fn secrets(&self) -> EpochSecrets {
        let committed = |c: &Committed| (c.values[0].bits(), c.shares.words().to_vec());
        let fixed = OfGarbler {
            version: VERSION,
            session: self.session,
            commitments: self.sender.state(),
            delta_ot: self.cot.offset().bits(),
            ka: committed(&self.ka),
            ot: committed(&self.ot),
        };
        EpochSecrets::new(&fixed, self.cot.keys_behind())
    }

    pub(super) fn restored(
        run: Metered,
        terms: &Terms,
        kept: &EpochSecrets,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        type State<C> = <<C as commit::CommitmentScheme>::Sender as commit::Sender>::State;
        let secrets: OfGarbler<State<C>> = decode(&kept.fixed)?;
        let delta_ot = Zeroizing::new(Delta::checked(secrets.delta_ot).ok_or_else(malformed)?);
        let words = level(terms.security)?.words;
        if secrets.version != VERSION
            || [secrets.ka.1.len(), secrets.ot.1.len()] != [words; 2]
            || secrets.ka.0 & 1 == 0
        {
            return Err(malformed());
        }
        let committed = |c: &CommittedBits| Committed {
            values: vec![Label::from_bits(c.0)],
            shares: Shares::of_columns(words, c.1.clone()),
        };
        let series = Series::new(&secrets.session, Direction::GarblerSends);
        let memory = commit::values_memory(terms.table_memory);
        Ok(Garbler {
            run,
            pool: Pool::entered_or_new(terms.threads)?,
            session: secrets.session,
            security: terms.security,
            sender: commit::Sender::restored(&secrets.commitments, terms.security.level(), memory)?,
            cot: ot::CotSender::restored(&series, *delta_ot, kept.forward.clone())?,
            ka: committed(&secrets.ka),
            ot: committed(&secrets.ot),
            rng: Rng::new("brickwork garbler")?,
            hooks,
            window: window(terms),
            binding: stock_ot_binding(terms.security),
            counters: Counters::none(),
            used: false,
            stock: PartyStock::new(),
        })
    }
}

impl<C: commit::CommitmentScheme> Evaluator<C> {
    pub(super) fn secrets(&self) -> EpochSecrets {
        let fixed = OfEvaluator {
            version: VERSION,
            session: self.core.session,
            commitments: self.core.receiver.state(),
            ka: self.ka.words().to_vec(),
            ot: self.ot.words().to_vec(),
            ot_delta_difference: self.ot_delta_difference.bits(),
        };
        EpochSecrets::new(&fixed, self.core.cot.keys_behind())
    }

    pub(super) fn restored(
        run: Metered,
        terms: &Terms,
        kept: &EpochSecrets,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        type State<C> = <<C as commit::CommitmentScheme>::Receiver as commit::Receiver>::State;
        let secrets: OfEvaluator<State<C>> = decode(&kept.fixed)?;
        let words = level(terms.security)?.words;
        if secrets.version != VERSION || [secrets.ka.len(), secrets.ot.len()] != [words; 2] {
            return Err(malformed());
        }
        let shares = |columns: &[u64]| Shares::of_columns(words, columns.to_vec());
        let series = Series::new(&secrets.session, Direction::GarblerSends);
        let core = EvaluatorCore {
            run,
            pool: Pool::entered_or_new(terms.threads)?,
            session: secrets.session,
            security: terms.security,
            receiver: commit::Receiver::restored(
                &secrets.commitments,
                terms.security.level(),
                terms.table_memory,
            )?,
            cot: ot::CotReceiver::restored(&series, kept.forward.clone())?,
            rng: Rng::new("brickwork evaluator")?,
            hooks,
            table_memory: terms.table_memory,
            openings_memory: openings_memory(terms.table_memory),
            segments: None,
            binding: stock_ot_binding(terms.security),
            counters: Counters::none(),
        };
        let (ka, ot, ot_delta_difference) =
            (shares(&secrets.ka), shares(&secrets.ot), Label::from_bits(secrets.ot_delta_difference));
        Ok(Evaluator {
            core,
            ka,
            ot,
            ot_delta_difference,
            delta_ka: Zeroizing::default(),
            used: false,
            stock: PartyStock::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::again;
    use super::*;
    use crate::instance::Commitments;
    use brickwork_base::random::SEED_BYTES;
    use brickwork_circuit::Party;
    use brickwork_primitives::commit::CommitmentScheme as _;

    type SeedBytes = [u8; SEED_BYTES];

    /// The stored data, field by field.
    #[derive(Serialize)]
    struct OfGarbler {
        version: u32,
        session: SessionId,
        commitments: Vec<[SeedBytes; 2]>,
        delta_ot: u128,
        ka: CommittedBits,
        ot: CommittedBits,
    }

    #[derive(Serialize)]
    struct OfEvaluator {
        version: u32,
        session: SessionId,
        commitments: Vec<SeedBytes>,
        watch_bits: Vec<u8>,
        ka: Vec<u64>,
        ot: Vec<u64>,
        ot_delta_difference: u128,
    }

    fn refused(party: Party, secrets: &impl Serialize) {
        let result = again::secrets(party, &postcard::to_stdvec(secrets).unwrap()).map(drop);
        assert!(matches!(result, Err(Error::Stock(why)) if why.contains("malformed, or another version")));
    }

    #[test]
    fn row_25_secrets_of_another_version_or_length_are_refused() {
        let level = Commitments::level(40).unwrap();
        let (seed, columns) = ([1; SEED_BYTES], vec![0; level.words]);
        let garbler = || OfGarbler {
            version: VERSION,
            session: [3; 32],
            commitments: vec![[seed; 2]; level.ots],
            delta_ot: 5,
            ka: (7, columns.clone()),
            ot: (5, columns.clone()),
        };
        let evaluator = || OfEvaluator {
            version: VERSION,
            session: [3; 32],
            commitments: vec![seed; level.ots],
            watch_bits: vec![0; level.ots],
            ka: columns.clone(),
            ot: columns.clone(),
            ot_delta_difference: 2,
        };
        assert!(again::secrets(Party::Garbler, &postcard::to_stdvec(&garbler()).unwrap()).is_ok());
        assert!(again::secrets(Party::Evaluator, &postcard::to_stdvec(&evaluator()).unwrap()).is_ok());
        let garblers: [fn(&mut OfGarbler); 6] = [
            |s| s.version += 1,
            |s| s.commitments.truncate(3),
            |s| s.delta_ot = 6,
            |s| s.ka.1.truncate(3),
            |s| s.ot.1.push(0),
            |s| s.ka.0 = 6,
        ];
        for change in garblers {
            let mut secrets = garbler();
            change(&mut secrets);
            refused(Party::Garbler, &secrets);
        }
        let evaluators: [fn(&mut OfEvaluator); 5] = [
            |s| s.version += 1,
            |s| s.commitments.truncate(3),
            |s| s.watch_bits.push(0),
            |s| s.ka.push(0),
            |s| s.ot.truncate(3),
        ];
        for change in evaluators {
            let mut secrets = evaluator();
            change(&mut secrets);
            refused(Party::Evaluator, &secrets);
        }
    }
}
