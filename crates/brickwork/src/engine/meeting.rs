//! The meeting of two parties before a run: they compare what they are about to do. Each party sends a
//! *sheet*, which describes its run, so that both can say why they do not fit. With a visit, `doctor`
//! compares the sheets without a run.
//!
//! ```text
//!   with the first bytes, both ways    what each is about to do (no secret: digests, flags, sizes)
//!   run:      whoever finds that it does not fit says why instead of its greeting
//!   visit:    both ways    agreed, or why not
//!             with stores, both ways: where the logs stand; then again: agreed, or why not
//! ```
//!
//! No security depends on this meeting: the protocol itself compares all data on which it depends, and
//! computes the bound of every proposal. The meeting only gives users better messages. A peer that lies here
//! is refused by the protocol later, with a shorter message.

use std::sync::Arc;

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::{Party, Port, Program, Type};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::PROTOCOL_VERSION;
use brickwork_protocol::stock::Lacking;
use brickwork_report::words::{bytes, plural};
use brickwork_store::Store;
use brickwork_wire::tls::Met;
use brickwork_wire::{Channel, Tag};
use serde::{Deserialize, Serialize};

use crate::cut::{Cut, CutChoice};
use crate::engine::request::{self, RunRequest};
use crate::engine::stocks::Stocks;
use crate::engine::work::PartyWork;
use crate::engine::{hex, role};
use crate::program::{gates_within, repeated};

/// The tag of a sheet that follows the greeting: on a connection whose greeting has no sheets, or when a
/// garbler proposes again.
pub(super) const SHEET: Tag = Tag(6);

/// The largest size of the sheet that [`SHEET`] carries.
pub(super) const MAX_SHEET_BYTES: usize = 1 << 16;

/// The tag of the message by which a party agrees with a visitor, or a visitor agrees.
const AGREED: Tag = Tag(5);

/// The longest name of a protocol with its flags.
const MAX_WAY_BYTES: usize = 100;

/// The largest number of protocols in a sheet, which is more than there are.
const MAX_WAYS: usize = 16;

/// Inputs whose types take more bytes are not sent.
const MAX_INPUTS_BYTES: usize = 1 << 11;

/// The sheet of a party: the description of the run that it is about to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sheet {
    /// The version of the protocol, which must be the same at both parties.
    protocol: u32,
    /// The protocols that this party accepts, each with the flags that both parties must give alike, in order
    /// of preference.
    ways: Vec<String>,
    role: String,
    security: u32,
    executions: Option<u32>,
    /// True if the party uses a store.
    store: bool,
    /// Digest of one execution of the given program.
    program: String,
    /// Digest of the source, if the program has one.
    source: Option<String>,
    /// The inputs of the garbler and of the evaluator in this party's program, unless the text is long.
    inputs: Option<[Vec<Port>; 2]>,
    /// The only cut that this party accepts, if its user named one.
    cut: Option<String>,
    /// The garbler's proposal.
    proposal: Option<Offer>,
    /// True if the garbler may propose another cut, because it will search for the fastest cut when it runs.
    open: bool,
    /// The kind of correlated OTs from which masks are made, if the protocol can use more than one kind.
    masks: Option<MaskOts>,
}

/// The correlated OTs from which masks are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskOts {
    /// The protocol that has masks.
    pub protocol: String,
    /// The correlated OTs.
    #[serde(with = "by_name")]
    pub cot: Cot,
    /// True if the user named them. Then the other party uses the same OTs, unless its user named others.
    pub said: bool,
}

/// The text form of correlated OTs in a sheet. A sheet with an unknown name is refused before any of its
/// content is shown.
mod by_name {
    use super::{Cot, Deserialize, request};

    pub fn serialize<S: serde::Serializer>(cot: &Cot, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(cot.name())
    }

    pub fn deserialize<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Cot, D::Error> {
        request::cot(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// The proposal of a garbler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub cut: String,
    /// Digest of all executions of the program in this cut.
    pub program: String,
    /// Bytes of memory that a run with this proposal takes at the evaluator, as far as they are known.
    pub memory: Option<u64>,
}

/// The reason why a party does not begin: a text for its own user, and a text for the peer.
pub(super) struct MeetingRefusal {
    here: String,
    there: String,
}

impl From<String> for MeetingRefusal {
    fn from(both: String) -> Self {
        MeetingRefusal { here: both.clone(), there: both }
    }
}

impl Sheet {
    /// Makes the sheet of a party that can run by these protocols (`ways`) and would use these OTs for masks.
    /// A garbler may have a proposal for the first protocol. If the sheet is `open`, the garbler may still
    /// change the proposal.
    pub fn of<P>(
        party: Party,
        given: &crate::program::Program,
        request: &RunRequest<P>,
        (ways, masks): (Vec<String>, Option<MaskOts>),
        proposal: Option<Offer>,
        open: bool,
    ) -> Self {
        let source = given.source_digest();
        let inputs = [Party::Garbler, Party::Evaluator].map(|party| given.inputs(party).to_vec());
        // If types are nested too deeply for a JSON parser, the inputs are left out, too.
        let is_legible = |text: Vec<u8>| serde_json::from_slice::<[[Vec<Port>; 2]; 1]>(&text).is_ok();
        let text = serde_json::to_vec(&[&inputs]);
        let is_told = text.is_ok_and(|text| text.len() <= MAX_INPUTS_BYTES && is_legible(text));
        let cut = match &request.cut {
            CutChoice::Fastest => None,
            CutChoice::Fixed(cut) => Some(cut.to_string()),
        };
        Sheet {
            protocol: PROTOCOL_VERSION,
            ways,
            masks,
            role: role(party).into(),
            security: request.parameters.security(),
            executions: request.parameters.executions,
            store: request.stored,
            program: hex(&given.digest()),
            inputs: is_told.then_some(inputs),
            source: source.map(|digest| hex(&digest)),
            open: open && cut.is_none(),
            cut,
            proposal,
        }
    }

    /// Reads the sheet of a peer. The sheet's texts cannot contain control characters of a terminal: a cut
    /// consists of names of functions, and a protocol consists of letters and flags.
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let sheet = serde_json::from_slice::<Sheet>(bytes).ok();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ' ';
        let is_way = |name: &str| name.len() <= MAX_WAY_BYTES && name.chars().all(plain);
        let are_ways = |ways: &[String]| ways.len() <= MAX_WAYS && ways.iter().all(|way| is_way(way));
        sheet.filter(|sheet| are_ways(&sheet.ways)).ok_or_else(|| {
            "one party cannot read the other's description of the run; install the same release on both \
             sides"
                .to_owned()
        })
    }

    pub fn encoded(&self) -> Vec<u8> {
        // Strings, numbers and options always have a JSON form.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns an error that names the first difference, in words that both parties can show.
    fn differs(&self, theirs: &Sheet) -> Result<(), String> {
        let store = |sheet: &Sheet| if sheet.store { "uses a store" } else { "uses no store" };
        let executions = |sheet: &Sheet| match sheet.executions {
            Some(n) => format!("--executions {n}"),
            None => "no --executions".into(),
        };
        let (garbler, evaluator) = if self.role == "garbler" { (self, theirs) } else { (theirs, self) };
        let found = [
            (
                self.role == theirs.role,
                format!(
                    "both parties run as the {}; start one as the garbler and the other as the evaluator",
                    self.role
                ),
            ),
            (
                self.protocol != theirs.protocol,
                format!(
                    "the garbler has version {} of the protocol, but the evaluator has version {}; install \
                     the same release on both sides",
                    garbler.protocol, evaluator.protocol
                ),
            ),
            (
                self.security != theirs.security,
                format!(
                    "the garbler has --security {}, but the evaluator has --security {}",
                    garbler.security, evaluator.security
                ),
            ),
            (
                self.store != theirs.store,
                format!(
                    "the garbler {}, but the evaluator {}; give --store on both sides or on neither",
                    store(garbler),
                    store(evaluator)
                ),
            ),
            (
                self.program != theirs.program,
                match inputs_differ(garbler, evaluator) {
                    Some(what) => format!("the two parties have different programs: {what}"),
                    None => "the two parties have different programs; compare the digests that `brickwork \
                             info` shows, the flags --map, and the names of the files (the name of a source \
                             or circuit is part of its program)"
                        .into(),
                },
            ),
            (
                self.executions != theirs.executions,
                format!(
                    "the garbler has {}, but the evaluator has {}",
                    executions(garbler),
                    executions(evaluator)
                ),
            ),
        ];
        let (before, behind) = found.split_at(2);
        let differs = |all: &[(bool, String)]| match all.iter().find(|(differs, _)| *differs) {
            Some((_, why)) => Err(why.clone()),
            None => Ok(()),
        };
        differs(before)?;
        self.way_with(theirs)?;
        differs(behind)?;
        self.masks_with(theirs)?;
        if garbler.open {
            // The garbler's proposal is not known yet, but a cut that the evaluator refuses is known.
            if let Some(only) = evaluator.cut.as_deref().and_then(|name| name.parse::<Cut>().ok()) {
                return Err(format!(
                    "the evaluator accepts only --cut {only}, but the garbler chooses the fastest cut; give \
                     the same --cut on both sides"
                ));
            }
            match (&garbler.source, &evaluator.source) {
                (Some(_), None) => {
                    return Err("the garbler has the source and may cut it in ways that the evaluator's \
                                compiled program does not allow; give both parties the same file, or give \
                                the garbler --cut given"
                        .into());
                }
                (Some(one), Some(other)) if one != other => {
                    return Err(
                        "the two sources compile to the same program, but a cut may make different programs \
                                of them; give both parties the same file, or --cut given"
                            .into(),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Sheet {
    /// Returns the protocol for the run: the first of the garbler's protocols that the evaluator accepts.
    fn way_with<'s>(&'s self, theirs: &'s Sheet) -> Result<&'s str, String> {
        let (garbler, evaluator) = if self.role == "garbler" { (self, theirs) } else { (theirs, self) };
        let both = garbler.ways.iter().find(|way| evaluator.ways.contains(way));
        both.map(String::as_str).ok_or_else(|| {
            let list = |sheet: &Sheet| sheet.ways.join(" or ");
            format!(
                "the garbler has --protocol {}, but the evaluator has --protocol {}",
                list(garbler),
                list(evaluator)
            )
        })
    }

    /// Returns the index, in this party's list, of the protocol that both parties accept.
    ///
    /// # Errors
    /// A text for both users if there is none.
    pub fn settled(&self, theirs: &[u8]) -> Result<usize, String> {
        if theirs.is_empty() {
            return Err("the peer sent no description of the run that it wants".into());
        }
        let theirs = Sheet::read(theirs)?;
        let way = self.way_with(&theirs)?;
        Ok(self.ways.iter().position(|own| own == way).unwrap_or_default())
    }

    /// Brings the garbler's choices to the evaluator, if the parties settled on another protocol than the
    /// first one of the garbler's sheet (`shown`). The garbler sends a new sheet, whose first protocol is the
    /// settled one. The evaluator replaces the garbler's earlier sheet by the new one.
    ///
    /// # Errors
    /// Those of the connection; [`ProtocolError::Mismatch`] if the garbler now prefers yet another way.
    pub fn proposes_again(&self, shown: &Sheet, met: &mut Met) -> Result<(), ProtocolError> {
        if self.role == "garbler" {
            if self.ways.first() != shown.ways.first() {
                met.channel.send(SHEET, &self.encoded())?;
                met.channel.flush()?;
            }
            return Ok(());
        }
        let settled = |theirs: &[u8]| -> Result<(String, bool), String> {
            let theirs = Sheet::read(theirs)?;
            let way = self.way_with(&theirs)?;
            Ok((way.to_owned(), theirs.ways.first().is_some_and(|first| first == way)))
        };
        let Ok((way, false)) = settled(&met.sheet) else { return Ok(()) };
        met.sheet = met.channel.receive_up_to(SHEET, MAX_SHEET_BYTES)?;
        match settled(&met.sheet) {
            Ok((again, true)) if again == way => Ok(()),
            _ => {
                let why =
                    "the garbler agreed on one protocol, but then proposed a run of another one".to_owned();
                refuse(&mut met.channel, why.into())
            }
        }
    }

    /// Returns the OTs for masks, in a protocol that has a choice: the OTs that a user named, or else the OTs
    /// that the garbler proposes. PCG needs one assumption more, so both users must have named it.
    fn masks_with(&self, theirs: &Sheet) -> Result<Option<Cot>, String> {
        let (garbler, evaluator) = if self.role == "garbler" { (self, theirs) } else { (theirs, self) };
        let (Some(garblers), Some(evaluators)) = (&garbler.masks, &evaluator.masks) else { return Ok(None) };
        let way = self.way_with(theirs)?;
        // The settled protocol may be one without masks.
        if self.masks.as_ref().map(|masks| masks.protocol.as_str()) != way.split(' ').next() {
            return Ok(None);
        }
        let both = |garblers: &str, evaluators: &str| {
            format!(
                "the garbler has --protocol {way}{garblers}, but the evaluator has --protocol \
                 {way}{evaluators}"
            )
        };
        let flag =
            |masks: &MaskOts| if masks.said { format!(" --cot {}", masks.cot.name()) } else { String::new() };
        let differ = || both(&flag(garblers), &flag(evaluators));
        let taken = match (garblers.said, evaluators.said) {
            (true, true) if garblers.cot != evaluators.cot => return Err(differ()),
            (false, true) => evaluators,
            _ => garblers,
        };
        let cot = taken.cot;
        match cot == Cot::Pcg && !(garblers.said && evaluators.said) {
            true => Err(format!(
                "{}; --cot pcg also assumes that LPN is hard, so both parties must ask for it",
                differ()
            )),
            false => Ok(Some(cot)),
        }
    }
}

/// Reads a peer's sheet; returns its bytes after writing it again, and all its words that this party's user
/// may see. Returns `None` if it is not a sheet. Only the fuzz targets use this function.
pub fn shown(bytes: &[u8], of_garbler: bool) -> Option<(Vec<u8>, Vec<String>)> {
    let theirs = Sheet::read(bytes).ok()?;
    let role = if of_garbler { "evaluator" } else { "garbler" };
    let masks = theirs.masks.clone().map(|masks| MaskOts { cot: Cot::default(), said: true, ..masks });
    // This sheet equals the peer's in every field that is compared early, so the later comparisons run, too.
    let like = Sheet { role: role.into(), masks, cut: None, ..theirs.clone() };
    let unlike = Sheet { ways: vec!["duplo".into()], security: 40, executions: None, ..like.clone() };
    let narrow = |ports: Vec<Port>| ports.into_iter().map(|port| Port { ty: narrower(port.ty), ..port });
    let inputs = theirs.inputs.clone().map(|both| both.map(|ports| narrow(ports).collect()));
    let other = Sheet { program: String::new(), inputs, ..like.clone() };
    let mut words: Vec<String> =
        [&like, &unlike, &other].iter().filter_map(|own| own.differs(&theirs).err()).collect();
    let cut = theirs.proposal.as_ref().and_then(|offer| offer.cut.parse::<Cut>().ok());
    words.extend(cut.map(|cut| cut.to_string()));
    Some((theirs.encoded(), words))
}

/// Returns a type of the same form with other innermost types.
fn narrower(ty: Type) -> Type {
    match ty {
        Type::Array(one, rows) => Type::Array(Box::new(narrower(*one)), rows),
        Type::Struct(fields) => {
            Type::Struct(fields.into_iter().map(|(name, ty)| (name, narrower(ty))).collect())
        }
        Type::Uint(1) => Type::Int(1),
        _ => Type::Uint(1),
    }
}

/// Returns the first difference between the inputs of two programs, if it can be named.
fn inputs_differ(garbler: &Sheet, evaluator: &Sheet) -> Option<String> {
    let (Some(one), Some(other)) = (&garbler.inputs, &evaluator.inputs) else { return None };
    let mut ports = one.iter().flatten().zip(other.iter().flatten());
    ports.find_map(|(one, other)| types_differ(&one.name, &one.ty, &other.ty))
}

/// The longest name of an input that a message shows.
const MAX_PLACE_BYTES: usize = 200;

/// Returns the first difference between two types, such as the number of rows. It shows no name from a peer
/// that contains control characters of a terminal, or that is very long.
fn types_differ(place: &str, garblers: &Type, evaluators: &Type) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '-');
    if garblers == evaluators || place.len() > MAX_PLACE_BYTES || !place.chars().all(plain) {
        return None;
    }
    match (garblers, evaluators) {
        (Type::Array(_, one), Type::Array(_, other)) if one != other => Some(format!(
            "the garbler has {place}[{one}], but the evaluator has {place}[{other}]; both need the same \
             number of rows"
        )),
        (Type::Array(one, _), Type::Array(other, _)) => types_differ(&format!("{place}[]"), one, other),
        (Type::Struct(one), Type::Struct(other)) => one
            .iter()
            .zip(other)
            .filter(|((one, _), (other, _))| one == other)
            .find_map(|((name, one), (_, other))| types_differ(&format!("{place}.{name}"), one, other)),
        (Type::Array(..) | Type::Struct(_), _) | (_, Type::Array(..) | Type::Struct(_)) => None,
        (one, other) => {
            Some(format!("{place} has type {one} in the garbler's program, but {other} in the evaluator's"))
        }
    }
}

impl PartyWork<'_> {
    /// Checks that this party can run with the peer that sent this sheet. Without a sheet the protocol checks
    /// this later. For a visitor it also makes the cut and returns it, because some differences show only
    /// then.
    fn fits(&self, own: &Sheet, theirs: &[u8], visits: bool) -> Result<Option<Arc<Program>>, MeetingRefusal> {
        if theirs.is_empty() {
            return Ok(None);
        }
        let theirs = Sheet::read(theirs)?;
        own.differs(&theirs)?;
        match (self.party, &theirs.proposal) {
            // The proposal is valid only for the protocol that the garbler prefers.
            (Party::Evaluator, Some(offer))
                if Some(own.way_with(&theirs)?) == theirs.ways.first().map(String::as_str) =>
            {
                self.accepts(own, &theirs, offer, visits)
            }
            // The protocol has nothing to propose, or it compares the proposal by itself.
            _ => Ok(None),
        }
    }

    /// Checks the garbler's proposal, at the evaluator.
    fn accepts(
        &self,
        own: &Sheet,
        theirs: &Sheet,
        offer: &Offer,
        visits: bool,
    ) -> Result<Option<Arc<Program>>, MeetingRefusal> {
        let cut: Cut =
            offer.cut.parse().map_err(|_| "the garbler proposes a cut that does not exist".to_owned())?;
        if let CutChoice::Fixed(only) = &self.request.cut
            && *only != cut
        {
            return Err(format!("the evaluator wants --cut {only}, but the garbler proposes {cut}").into());
        }
        let flags = matches!(cut, Cut::Flags { .. });
        if flags && own.source.is_none() {
            return Err(format!(
                "the evaluator's program is already compiled, so it allows only --cut given and --cut \
                 whole, not {cut}; give both parties the source, or give the garbler --cut given"
            )
            .into());
        }
        if let (Some(needed), Some(limit)) = (offer.memory, self.memory)
            && needed > limit
        {
            return Err(format!(
                "the garbler's proposal needs some {} of memory at the evaluator, but only {} are free or \
                 allowed there; use fewer --executions",
                bytes(needed),
                bytes(limit)
            )
            .into());
        }
        // Both parties make the same cut of the same file, so a run does not compare it here. A visit makes
        // the cut, because no run follows that would compare it.
        let is_certain = !flags || own.source == theirs.source;
        if is_certain && !visits {
            return Ok(None);
        }
        let made = self.given.cut(&cut, gates_within(self.memory));
        let made = made.and_then(|program| repeated(&program, self.executions()));
        let program = made.map_err(|error| MeetingRefusal {
            here: format!("the garbler proposes the cut {cut}: {}; {}", error.message(), error.hint()),
            there: format!("the evaluator cannot cut its file by {cut}"),
        })?;
        if hex(&program.digest()) != offer.program {
            return Err(format!(
                "with the cut {cut}, the two parties get different programs; compare the sources"
            )
            .into());
        }
        Ok(Some(Arc::new(program)))
    }

    /// Compares the sheet of a peer that wants to run with this party's sheet, and tells the peer about a
    /// difference. Returns the OTs for masks that both parties use, if there was a choice.
    pub fn agree_to_run(&self, own: &Sheet, met: &mut Met) -> Result<Option<Cot>, ProtocolError> {
        let fits = self.fits(own, &met.sheet, false).and_then(|_| match &met.sheet[..] {
            [] => Ok(None),
            theirs => Ok(own.masks_with(&Sheet::read(theirs)?)?),
        });
        fits.or_else(|refusal| refuse(&mut met.channel, refusal))
    }

    /// Compares everything that can be compared without a run. It changes nothing, not even a store. Returns
    /// the agreed protocol and flags, in words.
    ///
    /// # Errors
    /// [`ProtocolError::Mismatch`] with the difference, at both parties; [`ProtocolError::Stock`] if the
    /// stores do not go together.
    pub fn compare(
        &self,
        own: &Sheet,
        met: &mut Met,
        proposed: Option<&Arc<Program>>,
        store: Option<&Store>,
    ) -> Result<String, ProtocolError> {
        let channel = &mut met.channel;
        if met.sheet.is_empty() {
            let why = "the peer sent no description of the run that it wants".to_owned();
            return refuse(channel, why.into());
        }
        let made = self.fits(own, &met.sheet, true).or_else(|refusal| refuse(channel, refusal))?;
        agreed(channel)?;
        let same = "both parties have the same version, program, parameters and cut";
        if !own.store {
            return Ok(same.into());
        }
        let shared = self.stocks()?.compare(channel, store, self.party, &self.job.terms());
        let program = made.as_ref().or(proposed);
        let verdict = shared.and_then(|shared| Ok((shared, self.lacks(store, program)?)));
        match verdict {
            Ok((shared, None)) => {
                agreed(channel)?;
                let shared = plural(shared as u64, "part");
                Ok(format!("{same}, and their stores belong together ({shared} with the same log)"))
            }
            Ok((_, Some(lacks))) => refuse(channel, lacks.into()),
            Err(error) => {
                // Both parties know both logs, so the peer sees the same difference.
                tell(channel, &error.to_string());
                Err(error)
            }
        }
    }

    /// Returns the functions for the protocol's stock.
    fn stocks(&self) -> Result<&dyn Stocks, ProtocolError> {
        let name = self.request.parameters.protocol.name();
        self.stocks.ok_or_else(|| {
            ProtocolError::Usage(format!("--protocol {name} cannot use stock; leave --store out"))
        })
    }

    /// Returns whether a store has all items for this run.
    pub fn has(&self, store: &Store, program: &Program) -> Result<bool, ProtocolError> {
        let executions = self.executions().unwrap_or(1);
        let run = (program, executions, &self.request.cut);
        self.stocks()?.has((store, self.party, &self.job.terms()), run)
    }

    /// Returns why this party cannot run the program on its stock, if it cannot.
    fn lacks(
        &self,
        store: Option<&Store>,
        program: Option<&Arc<Program>>,
    ) -> Result<Option<String>, ProtocolError> {
        let Some(program) = program.filter(|_| self.request.lacking == Lacking::Refuse) else {
            return Ok(None);
        };
        let enough = match store {
            Some(store) => self.has(store, program)?,
            None => false,
        };
        Ok((!enough).then(|| {
            format!(
                "the {}'s stock lacks items for this run, and --no-top-up forbids to make them during the \
                 run",
                role(self.party)
            )
        }))
    }
}

/// Tells the peer why this party does not begin, and returns the same as an error.
pub(super) fn refuse<T>(
    channel: &mut Channel,
    MeetingRefusal { here, there }: MeetingRefusal,
) -> Result<T, ProtocolError> {
    tell(channel, &there);
    Err(ProtocolError::Mismatch(here))
}

fn tell(channel: &mut Channel, why: &str) {
    // If the peer is gone, it does not need the reason.
    if let Err(e) = channel.refuse(why) {
        tracing::debug!("this party could not tell the peer why it refuses: {e}");
    }
}

/// Tells the peer that this party agrees, and waits for the peer's answer.
fn agreed(channel: &mut Channel) -> Result<(), ProtocolError> {
    channel.send(AGREED, &[])?;
    channel.receive_first_into(AGREED, &mut [])
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut Sheet);

    fn sheet(role: &str) -> Sheet {
        Sheet {
            protocol: 3,
            ways: vec!["duplo".into()],
            role: role.into(),
            security: 40,
            executions: None,
            store: false,
            program: "ab".into(),
            source: Some("cd".into()),
            inputs: Some([vec![table(100)], Vec::new()]),
            cut: None,
            proposal: None,
            open: false,
            masks: None,
        }
    }

    /// Makes an input with this number of rows.
    fn table(rows: u32) -> Port {
        let row = Type::Struct(vec![("key".into(), Type::Uint(64)), ("n".into(), Type::Int(8))]);
        Port::new("input1", Type::Array(Box::new(row), rows))
    }

    /// The message names the input and both numbers of rows. It shows no name with control characters of a
    /// terminal.
    #[test]
    fn inputs_that_differ_are_named() {
        let garbler = sheet("garbler");
        let of =
            |inputs: Option<[Vec<Port>; 2]>| Sheet { program: "ef".into(), inputs, ..sheet("evaluator") };
        let typed = |name: &str, ty| Some([vec![Port::new(name, ty)], Vec::new()]);
        let fields = |key: Type, second: &str| {
            Type::Array(Box::new(Type::Struct(vec![("key".into(), key), (second.into(), Type::Int(8))])), 100)
        };
        for (inputs, words) in [
            (
                Some([vec![table(120)], Vec::new()]),
                "the garbler has input1[100], but the evaluator has input1[120]; both need the same",
            ),
            (
                typed("input1", fields(Type::Uint(32), "n")),
                "input1[].key has type uint64 in the garbler's program, but uint32 in the evaluator's",
            ),
            (typed("input1", fields(Type::Uint(64), "\u{1b}[2J")), "compare the digests"),
            (typed("input1", Type::Uint(7)), "compare the digests"),
            (Some([Vec::new(), Vec::new()]), "compare the digests"),
            (None, "compare the digests"),
        ] {
            let evaluator = of(inputs);
            let why = garbler.differs(&evaluator).unwrap_err();
            assert!(why.contains("different programs") && why.contains(words), "{why}");
            assert_eq!(evaluator.differs(&garbler), Err(why));
        }
        let painted = Port::new("\u{1b}[2J", Type::Array(Box::new(Type::Uint(1)), 3));
        let other = Port { ty: Type::Array(Box::new(Type::Uint(1)), 4), ..painted.clone() };
        let garbler = Sheet { inputs: Some([vec![painted], Vec::new()]), ..garbler };
        let why = garbler.differs(&of(Some([vec![other], Vec::new()]))).unwrap_err();
        assert!(!why.contains('\u{1b}'), "{why}");
    }

    /// The masks use the OTs that one party named, or those that the garbler proposes. OTs with an additional
    /// assumption are refused if only one party named them.
    #[test]
    fn masks_are_made_of_what_was_said() {
        let with = |role: &str, cot: Cot, said: bool| Sheet {
            masks: Some(MaskOts { protocol: "duplo".into(), cot, said }),
            ..sheet(role)
        };
        for (garblers, evaluators, expected) in [
            ((Cot::SoftSpoken8, false), (Cot::SoftSpoken2, false), Some(Cot::SoftSpoken8)),
            ((Cot::SoftSpoken8, true), (Cot::SoftSpoken2, false), Some(Cot::SoftSpoken8)),
            ((Cot::SoftSpoken8, false), (Cot::SoftSpoken2, true), Some(Cot::SoftSpoken2)),
            ((Cot::SoftSpoken2, true), (Cot::SoftSpoken2, true), Some(Cot::SoftSpoken2)),
            ((Cot::SoftSpoken8, true), (Cot::SoftSpoken2, true), None),
            ((Cot::Pcg, true), (Cot::Pcg, true), Some(Cot::Pcg)),
            ((Cot::Pcg, true), (Cot::SoftSpoken2, false), None),
            ((Cot::SoftSpoken2, false), (Cot::Pcg, true), None),
            ((Cot::Pcg, false), (Cot::SoftSpoken2, false), None),
        ] {
            let garbler = with("garbler", garblers.0, garblers.1);
            let evaluator = with("evaluator", evaluators.0, evaluators.1);
            let found = garbler.masks_with(&evaluator);
            assert_eq!(found, evaluator.masks_with(&garbler));
            assert_eq!(found.clone().ok(), expected.map(Some), "{found:?}");
            assert_eq!(found.is_err(), garbler.differs(&evaluator).is_err());
        }
        assert_eq!(sheet("garbler").masks_with(&sheet("evaluator")), Ok(None));
    }

    /// Both parties settle on the first of the garbler's protocols that the evaluator accepts, whatever its
    /// place in the evaluator's list.
    #[test]
    fn the_garblers_order_decides() {
        let with = |role: &str, ways: &[&str]| Sheet {
            ways: ways.iter().map(|way| (*way).into()).collect(),
            ..sheet(role)
        };
        for (garblers, evaluators, settled) in [
            (&["a", "b", "c"][..], &["c", "b"][..], Some((1, 1))),
            (&["a", "b"], &["b", "a"], Some((0, 1))),
            (&["c"], &["a", "b", "c"], Some((0, 2))),
            (&["a", "b"], &["b"], Some((1, 0))),
            (&["a", "b"], &["c", "d"], None),
            (&["a"], &["a --post-quantum"], None),
            (&["a"], &[], None),
        ] {
            let (garbler, evaluator) = (with("garbler", garblers), with("evaluator", evaluators));
            let found = (garbler.settled(&evaluator.encoded()), evaluator.settled(&garbler.encoded()));
            match settled {
                Some((one, other)) => assert_eq!(found, (Ok(one), Ok(other))),
                None => assert!(found.0.is_err() && found.0 == found.1, "{found:?}"),
            }
        }
        assert!(sheet("garbler").settled(&[]).is_err() && sheet("garbler").settled(b"{").is_err());
    }

    /// OTs for masks are compared only in a protocol that has masks.
    #[test]
    fn masks_of_another_protocol_say_nothing() {
        let with = |role: &str, cot: Cot, ways: &[&str]| Sheet {
            masks: Some(MaskOts { protocol: "authenticated".into(), cot, said: true }),
            ways: ways.iter().map(|way| (*way).into()).collect(),
            ..sheet(role)
        };
        let garbler = with("garbler", Cot::Pcg, &["duplo", "authenticated"]);
        let other = with("evaluator", Cot::SoftSpoken4, &["authenticated", "duplo"]);
        assert_eq!((garbler.masks_with(&other), other.masks_with(&garbler)), (Ok(None), Ok(None)));
        let same = with("evaluator", Cot::SoftSpoken4, &["authenticated --post-quantum", "authenticated"]);
        assert!(garbler.masks_with(&same).is_err() && same.masks_with(&garbler).is_err());
    }

    /// A sheet whose protocols are not plain names is refused, so a peer cannot write control characters to
    /// this party's terminal.
    #[test]
    fn a_peer_paints_nothing() {
        let own = Sheet { ways: vec!["authenticated --cot pcg --post-quantum".into()], ..sheet("garbler") };
        assert_eq!(Sheet::read(&own.encoded()), Ok(own.clone()));
        let long = "x".repeat(MAX_WAY_BYTES + 1);
        for name in ["x\n\u{1b}[2JThe evaluator learns 5", "x\ty", "\u{202e}duplo", "d\u{e9}ja", &long] {
            let theirs = Sheet { ways: vec!["duplo".into(), name.into()], ..own.clone() };
            let why = Sheet::read(&theirs.encoded()).unwrap_err();
            assert!(!why.contains(name) && why.contains("cannot read the other"), "{why}");
        }
        let many = Sheet { ways: vec!["duplo".into(); MAX_WAYS + 1], ..own.clone() };
        assert!(Sheet::read(&many.encoded()).is_err());
        let masks = Some(MaskOts { protocol: "authenticated".into(), cot: Cot::Pcg, said: true });
        let masked = Sheet { masks, ..own.clone() };
        let named = |name: &str| String::from_utf8(masked.encoded()).unwrap().replace("\"pcg\"", name);
        assert_eq!(Sheet::read(named("\"pcg\"").as_bytes()), Ok(masked.clone()));
        for name in ["\"softspoken-3\"", "\"pcg\\u001b[2J\"", "\"\""] {
            assert!(Sheet::read(named(name).as_bytes()).is_err(), "{name}");
        }
    }

    /// Both parties show the same message about any difference.
    #[test]
    fn both_name_what_differs() {
        let garbler = sheet("garbler");
        assert_eq!(garbler.differs(&sheet("evaluator")), Ok(()));
        let changes: [(Change, &str); 9] = [
            (|sheet| sheet.role = "garbler".into(), "both parties run as the garbler"),
            (|sheet| sheet.protocol = 9, "version"),
            (|sheet| sheet.ways = vec!["semi-honest".into()], "but the evaluator has --protocol semi-honest"),
            (
                |sheet| sheet.ways = vec!["lego".into(), "jimu".into()],
                "has --protocol duplo, but the evaluator has --protocol lego or jimu",
            ),
            (|sheet| sheet.ways.clear(), "the evaluator has --protocol "),
            (|sheet| sheet.security = 64, "--security 64"),
            (|sheet| sheet.store = true, "--store"),
            (|sheet| sheet.program = "ef".into(), "different programs"),
            (|sheet| sheet.executions = Some(1), "no --executions, but the evaluator has --executions 1"),
        ];
        for (change, words) in changes {
            let mut evaluator = sheet("evaluator");
            change(&mut evaluator);
            let why = garbler.differs(&evaluator).unwrap_err();
            assert!(why.contains(words), "{why}");
            assert_eq!(evaluator.differs(&garbler), Err(why));
        }
        // This garbler has not chosen its cut yet.
        let open = Sheet { open: true, ..garbler };
        assert_eq!(open.differs(&sheet("evaluator")), Ok(()));
        for (change, words) in [
            ((|sheet| sheet.source = None) as Change, "compiled program does not allow"),
            (|sheet| sheet.source = Some("00".into()), "the two sources compile to the same program"),
            (|sheet| sheet.cut = Some("given".into()), "only --cut given"),
        ] {
            let mut evaluator = sheet("evaluator");
            change(&mut evaluator);
            let why = evaluator.differs(&open).unwrap_err();
            assert!(why.contains(words), "{why}");
            assert_eq!(open.differs(&evaluator), Err(why));
        }
    }
}
