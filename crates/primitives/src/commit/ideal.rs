//! The ideal functionality, for tests: values travel in the clear, a share is the value itself, and a claim
//! is compared.

use super::Cheat;
use super::{Claims, Column, Committed, Each, Known, Lsb, Names, New, Pending, Proof, Shares};
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_wire::{Channel, Tag};

const VALUES: Tag = Tag(230);

pub(super) struct Sender(pub Rng);

#[derive(Default)]
pub(super) struct Receiver {
    names: Names,
}

fn shares(values: &[Label]) -> Shares {
    Shares::of_columns(2, values.iter().flat_map(|v| [v.bits() as u64, (v.bits() >> 64) as u64]).collect())
}

impl super::Sender for Sender {
    fn commit_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Committed, Error> {
        let draw = |label: Label| match lsb {
            Lsb::Random => label,
            Lsb::Zero => label.with_colour(0),
            Lsb::One => label.with_colour(1),
        };
        let values: Vec<Label> = (0..count).map(|_| draw(self.0.label())).collect();
        self.commit(channel, &values)
    }

    fn commit(&mut self, channel: &mut Channel, values: &[Label]) -> Result<Committed, Error> {
        channel.send(VALUES, bytemuck::cast_slice(values))?;
        Ok(Committed { values: values.to_vec(), shares: shares(values) })
    }

    fn prove(&mut self, channel: &mut Channel, _: &[New], _: &Claims) -> Result<(), Error> {
        channel.flush()
    }
}

impl super::Receiver for Receiver {
    fn receive_random(&mut self, channel: &mut Channel, count: usize, _: Lsb) -> Result<Pending, Error> {
        self.receive(channel, count)
    }

    fn receive(&mut self, channel: &mut Channel, count: usize) -> Result<Pending, Error> {
        let mut values = vec![Label::ZERO; count];
        channel.receive_into(VALUES, bytemuck::cast_slice_mut(&mut values))?;
        Ok(self.names.pending(shares(&values)))
    }

    fn verify(&mut self, _: &mut Channel, new: &[&Pending], claims: &Claims) -> Result<Proof, Error> {
        assert!(
            claims.weighted.is_empty() && claims.values.is_empty(),
            "the ideal functionality compares claim by claim"
        );
        let each = |each: &Each, i: usize, sum: &mut Column| {
            let (item, wire) = (i / each.wires, i % each.wires);
            each.terms
                .iter()
                .for_each(|(shares, coefficient)| shares.add_if(coefficient(item, wire), i, sum));
            each.one.iter().for_each(|(shares, coefficient)| shares.add_if(coefficient(item, wire), 0, sum));
            let mut value = [Label::ZERO];
            each.values.iter().for_each(|values| values(item, wire..wire + 1, &mut value));
            value[0]
        };
        let known = |known: &Known, i: usize, sum: &mut Column| match known {
            Known::Sums(_, claim) => claim(i, sum),
            Known::Each(claims) => each(claims, i, sum),
        };
        let compare =
            |count: usize, mask: u128, cheat: Cheat, claim: &dyn Fn(usize, &mut Column) -> Label| {
                for i in 0..count {
                    let mut sum = Default::default();
                    let claimed = claim(i, &mut sum).bits();
                    let committed = u128::from(sum[0]) | u128::from(sum[1]) << 64;
                    if (claimed ^ committed) & mask != 0 {
                        return Err(Error::from(cheat));
                    }
                }
                Ok(())
            };
        claims.bits.iter().try_for_each(|(count, claim)| compare(*count, 1, Cheat::Indicator, claim))?;
        claims.known.iter().try_for_each(|claims| {
            compare(claims.count(), u128::MAX, Cheat::Opening, &|i, sum| known(claims, i, sum))
        })?;
        Ok(self.names.proof(new, claims))
    }

    fn names(&mut self) -> &mut Names {
        &mut self.names
    }
}
