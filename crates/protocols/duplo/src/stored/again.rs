//! Reads data from a disk and encodes it again, for fuzz targets: they check that different bytes are never
//! read as the same data.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::batches::kind;
use super::records::{Context, Header, KnownComponent, Stored};
use super::side::Role;
use crate::hooks::Hooks;
use crate::instance::{CotReceiver, CotSender, level};
use crate::report::Duplo;
use crate::{Evaluator, Garbler};
use brickwork_base::{Error, Security};
use brickwork_circuit::{Component, Party};
use brickwork_primitives::garbling::Schedule;
use brickwork_primitives::ot::{CotReceiver as _, CotSender as _};
use brickwork_protocol::stock::records::{In, Out};
use brickwork_protocol::{Metered, TABLE_MEMORY, Terms, Unobserved};
use brickwork_store::{EpochSecrets, Forward, GivenUp};
use brickwork_wire::memory_pair;

/// Reads a record of a batch with this many items, and encodes it again.
///
/// # Errors
/// [`Error::Stock`] if the header or the record is malformed.
pub(crate) fn record(
    party: Party,
    component: &Component,
    kind_of_batch: u8,
    header: &[u8],
    items: usize,
    bytes: &[u8],
) -> Result<Vec<u8>, Error> {
    let (schedule, digest) = (Arc::new(Schedule::new(&component.circuit)), component.digest());
    let known = KnownComponent { component, digest: &digest, schedule: Some(&schedule) };
    let component = (kind_of_batch == kind::COMPONENT).then_some(known);
    let header = Header::decode(header, GivenUp::default())?;
    let words = level(40)?.words;
    let context = Context { header: &header, session: &[3; 32], words, component, committer: None };
    match party {
        Party::Garbler => of_role::<Garbler>(&context, kind_of_batch, items, bytes),
        Party::Evaluator => of_role::<Evaluator>(&context, kind_of_batch, items, bytes),
    }
}

fn of_role<R: Role>(context: &Context, kind: u8, items: usize, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    match kind {
        kind::COMPONENT => written_again::<R::Component>(context, items, bytes),
        kind::INPUT => written_again::<R::Authenticators>(context, items, bytes),
        _ => written_again::<R::Ots>(context, items, bytes),
    }
}

fn written_again<P: Stored>(context: &Context, items: usize, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut record = In::new(bytes);
    let read = P::decode(context, items, &mut record)?;
    record.end()?;
    assert_eq!(read.len(), items, "the record must have as many items as the index says");
    let mut out = Out::of(items);
    read.encode(0..items, &mut out)?;
    Ok(out.plain().to_vec())
}

/// Reads the secrets of a session, and encodes them again.
///
/// # Errors
/// [`Error::Stock`] if the secrets are malformed.
pub(crate) fn secrets(party: Party, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let terms = Terms {
        security: Security::of(40),
        threads: 1,
        table_memory: TABLE_MEMORY,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };
    let (channel, _) = memory_pair();
    let observer = Box::new(Unobserved);
    let run = Metered::new::<Duplo>(channel, party, observer);
    // The keys of OTs are not part of these bytes.
    let keys = |count: usize| Forward::of_setup(vec![1; count]);
    let kept = |keys| EpochSecrets { fixed: bytes.to_vec(), forward: keys };
    let mut again = match party {
        Party::Garbler => {
            <Garbler>::restored(run, &terms, &kept(keys(CotSender::KEYS)), Hooks::none())?.secrets()
        }
        Party::Evaluator => {
            <Evaluator>::restored(run, &terms, &kept(keys(CotReceiver::KEYS)), Hooks::none())?.secrets()
        }
    };
    Ok(Zeroizing::new(std::mem::take(&mut again.fixed)))
}
