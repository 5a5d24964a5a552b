//! What a session needs to go on in another process: its seeds, its offsets, the evaluator's watch bits. They
//! live as long as there is stock that was made with them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::hooks::Hooks;
use crate::parameters::{code, stock_ot_binding};
use crate::sessions::{EvaluatorCore, threads};
use crate::setup::window;
use crate::stock::Stock;
use crate::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_primitives::commit::{Committed, Shares, split};
use brickwork_primitives::ot::extension;
use brickwork_session::{Run, SessionId, Terms, garbler_memory, openings_memory};
use brickwork_stock::encoded_secret;

/// Version of the secrets.
const VERSION: u32 = 1;

type SeedBytes = [u8; SEED_BYTES];

#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct OfGarbler {
    version: u32,
    session: SessionId,
    commitments: Vec<[SeedBytes; 2]>,
    ots: Vec<SeedBytes>,
    /// Δ_ot as it is in the OTs.
    delta_ot: u128,
    /// Committed values and shares of Δ_ka and Δ_ot.
    ka: (u128, Vec<u64>),
    ot: (u128, Vec<u64>),
}

#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct OfEvaluator {
    version: u32,
    session: SessionId,
    commitments: Vec<SeedBytes>,
    watch_bits: Vec<u8>,
    ots: Vec<[SeedBytes; 2]>,
    ka: Vec<u64>,
    ot: Vec<u64>,
    ot_delta_difference: u128,
}

fn bytes(seeds: &[Seed]) -> Vec<SeedBytes> {
    seeds.iter().map(|seed| *seed.as_bytes()).collect()
}

fn pairs(seeds: &[[Seed; 2]]) -> Vec<[SeedBytes; 2]> {
    seeds.iter().map(|pair| [*pair[0].as_bytes(), *pair[1].as_bytes()]).collect()
}

fn seeds(bytes: &[SeedBytes]) -> Vec<Seed> {
    bytes.iter().map(|&bytes| Seed::from_bytes(bytes)).collect()
}

fn seed_pairs(bytes: &[[SeedBytes; 2]]) -> Vec<[Seed; 2]> {
    bytes.iter().map(|pair| pair.map(Seed::from_bytes)).collect()
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|_| malformed())
}

fn malformed() -> Error {
    Error::Stock("the secrets of a session are malformed or of another version".into())
}

impl<'o> Garbler<'o> {
    pub(super) fn secrets(&self) -> Zeroizing<Vec<u8>> {
        let (delta_ot, ots) = self.cot.seeds();
        let committed = |c: &Committed| (c.values[0].bits(), c.shares.words().to_vec());
        encoded_secret(&OfGarbler {
            version: VERSION,
            session: self.session,
            commitments: pairs(self.sender.seeds()),
            ots: bytes(ots),
            delta_ot: delta_ot.bits(),
            ka: committed(&self.ka),
            ot: committed(&self.ot),
        })
    }

    pub(super) fn restored(run: Run<'o>, terms: &Terms, secrets: &[u8], hooks: Hooks) -> Result<Self, Error> {
        let secrets: OfGarbler = decode(secrets)?;
        let code = code(terms.security)?;
        let lengths = [secrets.commitments.len(), secrets.ots.len(), secrets.ka.1.len(), secrets.ot.1.len()];
        if secrets.version != VERSION
            || lengths != [code.length(), 128, code.words(), code.words()]
            || secrets.ka.0 & 1 == 0
        {
            return Err(malformed());
        }
        let committed = |c: &(u128, Vec<u64>)| Committed {
            values: vec![Label::from_bits(c.0)],
            shares: Shares::of_columns(code.words(), c.1.clone()),
        };
        Ok(Garbler {
            run,
            pool: threads(terms)?,
            session: secrets.session,
            security: terms.security,
            sender: split::Sender::new(
                code,
                &seed_pairs(&secrets.commitments),
                garbler_memory(terms.table_memory),
            ),
            cot: extension::Sender::new(&secrets.session, Delta::new(secrets.delta_ot), &seeds(&secrets.ots)),
            ka: committed(&secrets.ka),
            ot: committed(&secrets.ot),
            rng: Rng::new("brickwork garbler")?,
            hooks,
            window: window(terms),
            binding: stock_ot_binding(terms.security),
            authenticators: 0,
            serial: 0,
            used: false,
            stock: Stock::new(),
        })
    }
}

impl<'o> Evaluator<'o> {
    pub(super) fn secrets(&self) -> Zeroizing<Vec<u8>> {
        let (commitments, watch_bits) = self.core.receiver.seeds();
        encoded_secret(&OfEvaluator {
            version: VERSION,
            session: self.core.session,
            commitments: bytes(commitments),
            watch_bits: watch_bits.to_vec(),
            ots: pairs(self.core.cot.seeds()),
            ka: self.ka.words().to_vec(),
            ot: self.ot.words().to_vec(),
            ot_delta_difference: self.ot_delta_difference.bits(),
        })
    }

    pub(super) fn restored(run: Run<'o>, terms: &Terms, secrets: &[u8], hooks: Hooks) -> Result<Self, Error> {
        let secrets: OfEvaluator = decode(secrets)?;
        let code = code(terms.security)?;
        let lengths = [
            secrets.commitments.len(),
            secrets.watch_bits.len(),
            secrets.ots.len(),
            secrets.ka.len(),
            secrets.ot.len(),
        ];
        if secrets.version != VERSION
            || lengths != [code.length(), code.length(), 128, code.words(), code.words()]
        {
            return Err(malformed());
        }
        let shares = |columns: &[u64]| Shares::of_columns(code.words(), columns.to_vec());
        let core = EvaluatorCore {
            run,
            pool: threads(terms)?,
            session: secrets.session,
            security: terms.security,
            receiver: split::Receiver::new(
                code,
                &seeds(&secrets.commitments),
                &secrets.watch_bits,
                terms.table_memory,
            )?,
            cot: extension::Receiver::new(&secrets.session, &seed_pairs(&secrets.ots))?,
            rng: Rng::new("brickwork evaluator")?,
            hooks,
            table_memory: terms.table_memory,
            openings_memory: openings_memory(terms.table_memory),
            segments: None,
            binding: stock_ot_binding(terms.security),
            authenticators: 0,
            serial: 0,
        };
        let (ka, ot, ot_delta_difference) =
            (shares(&secrets.ka), shares(&secrets.ot), Label::from_bits(secrets.ot_delta_difference));
        Ok(Evaluator { core, ka, ot, ot_delta_difference, used: false, stock: Stock::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::again;
    use super::*;
    use brickwork_circuit::Party;

    fn refused(party: Party, secrets: &impl Serialize) {
        let result = again::secrets(party, &postcard::to_stdvec(secrets).unwrap());
        assert!(matches!(result, Err(Error::Stock(why)) if why.contains("malformed or of another version")));
    }

    #[test]
    fn row_25_secrets_of_another_version_or_length_are_refused() {
        let code = code(40).unwrap();
        let (seed, columns) = ([1; SEED_BYTES], vec![0; code.words()]);
        let garbler = || OfGarbler {
            version: VERSION,
            session: [3; 32],
            commitments: vec![[seed; 2]; code.length()],
            ots: vec![seed; 128],
            delta_ot: 5,
            ka: (7, columns.clone()),
            ot: (5, columns.clone()),
        };
        let evaluator = || OfEvaluator {
            version: VERSION,
            session: [3; 32],
            commitments: vec![seed; code.length()],
            watch_bits: vec![0; code.length()],
            ots: vec![[seed; 2]; 128],
            ka: columns.clone(),
            ot: columns.clone(),
            ot_delta_difference: 2,
        };
        assert!(again::secrets(Party::Garbler, &postcard::to_stdvec(&garbler()).unwrap()).is_ok());
        assert!(again::secrets(Party::Evaluator, &postcard::to_stdvec(&evaluator()).unwrap()).is_ok());
        let garblers: [fn(&mut OfGarbler); 6] = [
            |s| s.version += 1,
            |s| s.commitments.truncate(3),
            |s| s.ots.push([1; SEED_BYTES]),
            |s| s.ka.1.truncate(3),
            |s| s.ot.1.push(0),
            |s| s.ka.0 = 6,
        ];
        for change in garblers {
            let mut secrets = garbler();
            change(&mut secrets);
            refused(Party::Garbler, &secrets);
        }
        let evaluators: [fn(&mut OfEvaluator); 6] = [
            |s| s.version += 1,
            |s| s.commitments.truncate(3),
            |s| s.watch_bits.push(0),
            |s| s.ots.truncate(127),
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
