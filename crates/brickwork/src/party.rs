//! A party of a computation in a few lines of code: [`Party`], and [`run_local`] for both parties at once.

use std::fmt;
use std::io::{Read, Write};
use std::time::Duration;

use brickwork_circuit::Party as Role;
use brickwork_protocol::stock::Preprocessed;
use brickwork_protocol::{Observer, PhaseReport, TABLE_MEMORY, Terms, Unobserved};
use brickwork_store::Store;
use brickwork_wire::tls::{self, Identity, Listener, PublicKey};
use brickwork_wire::{Channel, memory_pair, over};

use crate::engine::Observe;
use crate::engine::protocols;
use crate::engine::report::Report;
use crate::engine::request::{AgreedParameters, Protocol, RunRequest};
use crate::engine::run::{self, PartyRun, Route};
use crate::engine::sessions::SessionNeeds;
use crate::engine::stocked::{Requested, StockOptions, StockRequest, Stocked, UngreetedConnection};
use crate::engine::task::Endpoint;
use crate::engine::ways::{Protocols, RunPart, ordered};
use crate::failure::{Error, ErrorKind};
use crate::maker::{Caller, Hired};
use crate::program::Program;
use crate::steps::Session;
use crate::values::{Inputs, Outputs};

/// The result of a run at one party.
///
/// ```
/// use brickwork::{Program, run_local};
///
/// let text = "#parties 2\n#input 1 uint_t 8\n#input 2 uint_t 8\n#output 1 uint_t 8\n\
///             function void main() { output1 = input1 + input2; }";
/// let program = Program::from_source("add.wir", text)?;
/// let [garbler, evaluator] = run_local(&program, ("input1", 3u8), ("input2", 4u8))?;
/// assert_eq!(garbler.outputs.get::<u8>("output1")?, 7);
/// assert_eq!(garbler.report.protocol, evaluator.report.protocol);
/// # Ok::<(), brickwork::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// The outputs of this party.
    pub outputs: Outputs,
    /// All else that is known of the run, such as its promise.
    pub report: Report,
}

/// The way in which a party reaches its peer.
enum Transport {
    Listen(String),
    Connect(String),
    /// A connection that the caller made. It is `None` after its use.
    Own(Option<Channel>),
}

/// A party of a computation: its role and key, its peer, and its connection.
///
/// Both parties must name the same security, and at least one common protocol. A run ends the connection, and
/// the next run makes another connection, except over a [connection of the caller's](Party::over).
///
/// ```
/// use brickwork::{Identity, Inputs, Party, Program};
///
/// let program = Program::from_source(
///     "richer.wir",
///     "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n#output 2 uint_t 1\n\
///      function void main() { output1 = input1 > input2; output2 = output1; }",
/// )?;
/// let ((alice, _), (bob, _)) = (Identity::generate()?, Identity::generate()?);
/// let (to_bob, to_alice) = (alice.public_key(), bob.public_key());
///
/// let mut garbler = Party::garbler(alice).peer(to_alice).listen("127.0.0.1:0");
/// let address = garbler.bind()?;
/// let other = program.clone();
/// let bob = std::thread::spawn(move || {
///     let mut evaluator = Party::evaluator(bob).peer(to_bob).connect(address.to_string());
///     evaluator.run(&other, &Inputs::from(("input2", 1_000_000u32)))
/// });
/// let run = garbler.run(&program, &Inputs::from(("input1", 1_250_000u32)))?;
/// assert!(run.outputs.get::<bool>("output")?);
/// assert!(bob.join().expect("no panic")?.report.promise.bound_log2 <= -40.0);
/// # Ok::<(), brickwork::Error>(())
/// ```
pub struct Party {
    role: Role,
    identity: Identity,
    peer: Option<PublicKey>,
    line: Option<Transport>,
    listener: Option<Listener>,
    request: RunRequest<Protocols>,
    store: Option<Store>,
}

impl Party {
    /// Makes the garbler with this key.
    pub fn garbler(identity: Identity) -> Self {
        Party::new(Role::Garbler, identity)
    }

    /// Makes the evaluator with this key.
    pub fn evaluator(identity: Identity) -> Self {
        Party::new(Role::Evaluator, identity)
    }

    fn new(role: Role, identity: Identity) -> Self {
        let request = RunRequest::new(AgreedParameters::new(Protocols::auto()));
        Party { role, identity, peer: None, line: None, listener: None, request, store: None }
    }

    /// Makes a party with this request.
    #[doc(hidden)]
    pub fn with_request(role: Role, identity: Identity, request: RunRequest<Protocols>) -> Self {
        Party { request, ..Party::new(role, identity) }
    }

    /// Names the public key of the peer: only the holder of the private key can be the peer.
    pub fn peer(mut self, peer: PublicKey) -> Self {
        self.peer = Some(peer);
        self
    }

    /// Waits for the peer at this address of this machine, such as `0.0.0.0:7000`.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.line = Some(Transport::Listen(address.into()));
        self
    }

    /// Connects to the peer, which listens at this address. It tries again until the timeout if the peer does
    /// not listen yet.
    pub fn connect(mut self, address: impl Into<String>) -> Self {
        self.line = Some(Transport::Connect(address.into()));
        self
    }

    /// Reaches the peer in this way.
    #[doc(hidden)]
    pub fn at(self, place: Endpoint) -> Self {
        match place {
            Endpoint::Listen(address) => self.listen(address),
            Endpoint::Connect(address) => self.connect(address),
        }
    }

    /// Uses a connection that the caller made, for one run. The connection must be private and authenticated:
    /// neither TLS nor keys protect it. A thread does the writing, so two parties that write at the same time
    /// never block each other.
    ///
    /// A reader that never returns blocks the run forever, so limit how long it waits, for example by a
    /// timeout of its socket.
    ///
    /// # Errors
    /// An error of the machine if the system gives no thread.
    pub fn over(
        mut self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<Self, Error> {
        self.line = Some(Transport::Own(Some(over(reader, writer)?)));
        Ok(self)
    }

    /// Makes this protocol the only accepted one. If no protocol is named, the run takes the protocol that
    /// the garbler predicts to be fastest, among those that hold against a cheater.
    pub fn protocol(&mut self, protocol: Protocol) -> &mut Self {
        self.accept([protocol])
    }

    /// Names the accepted protocols. The run takes the fastest one that the peer accepts, too.
    pub fn accept(&mut self, protocols: impl IntoIterator<Item = Protocol>) -> &mut Self {
        self.request.parameters.protocol = Protocols::of(protocols);
        self
    }

    /// Uses stock from this store. Items that are missing in the stock are made during the run. The peer must
    /// use a store, too.
    pub fn store(&mut self, store: Store) -> &mut Self {
        self.request.stored = true;
        self.store = Some(store);
        self
    }

    /// Sets the statistical security in bits: 40, 64 or 80.
    pub fn security(&mut self, bits: u32) -> &mut Self {
        self.request.parameters.security = Some(bits);
        self
    }

    /// Limits the number of threads; the default is all cores.
    pub fn threads(&mut self, threads: u16) -> &mut Self {
        self.request.resources.threads = Some(threads);
        self
    }

    /// Limits the time for which the peer may stall; the default is 10 seconds.
    pub fn timeout(&mut self, timeout: Duration) -> &mut Self {
        self.request.resources.timeout = timeout;
        self
    }

    /// Limits the predicted memory of a run, in bytes.
    pub fn max_ram(&mut self, bytes: u64) -> &mut Self {
        self.request.resources.max_ram = Some(bytes);
        self
    }

    /// Starts to listen, and returns the address of this party. A run does this by itself if it was not done
    /// before.
    ///
    /// # Errors
    /// An error of the network if the address is in use, and an error of usage if the party does not listen.
    pub fn bind(&mut self) -> Result<std::net::SocketAddr, Error> {
        let Some(Transport::Listen(address)) = &self.line else {
            return Err(Error::usage("this party does not listen", "call `listen` with an address"));
        };
        let listener = match self.listener.take() {
            Some(listener) => listener,
            None => {
                let options = self.request.resources.options(self.role);
                Listener::bind(address, &self.identity, self.peer_key()?, &options)?
            }
        };
        Ok(self.listener.insert(listener).local_addr()?)
    }

    /// Runs a program with the inputs of this party.
    ///
    /// # Errors
    /// An error of input if a value is missing or does not fit. Also errors of the network and of the peer,
    /// and an error if the parties want different runs.
    pub fn run(&mut self, program: &Program, inputs: &Inputs) -> Result<Run, Error> {
        self.run_watched(program, inputs, &|_| Box::new(Unobserved))
    }

    /// Does the same as [`Party::run`], and shows the progress to the observer that `watch` makes for the
    /// protocol's phases.
    ///
    /// # Errors
    /// As [`Party::run`].
    pub fn run_watched(
        &mut self,
        program: &Program,
        inputs: &Inputs,
        watch: &dyn Fn(&'static [&'static str]) -> Box<dyn Observer>,
    ) -> Result<Run, Error> {
        let input = inputs.encode(program.inputs(self.role))?;
        let (party, request, store) = (self.role, self.request.clone(), self.store.clone());
        let (keys, place, _) = self.reach()?;
        let part = RunPart { party, request: &request, given: program, keys, warns: true };
        run_at(&part, store, place, &input, watch)
    }

    /// Makes stock for this number of executions of a program, with a peer that does the same. The protocol
    /// is DUPLO if it is accepted, or else the first accepted one.
    ///
    /// # Errors
    /// An error of usage without a store, or over a connection of the caller's that was used before. Also
    /// errors of the network, and an error if the stores do not belong together.
    pub fn prepare(&mut self, program: &Program, executions: u32) -> Result<(), Error> {
        let accepted: Vec<_> = self.request.parameters.protocol.iter().collect();
        let protocol = match accepted.contains(&Protocol::OF_NEW_STOCK) {
            true => Protocol::OF_NEW_STOCK,
            false => accepted[0],
        };
        let request = self.request.with(Protocols::from(protocol));
        check_stocked_session(&request)?;
        let wishes = StockOptions { cot: request.parameters.cot, ..StockOptions::new(protocol) };
        let asked = StockRequest::of(&[Requested::of(program, executions)], &wishes)?;
        self.fill(protocol, &asked, &Crew::default(), &|_| Box::new(Unobserved)).map(drop)
    }

    /// Makes this stock of a protocol with the peer. Returns the time and the bytes of each phase.
    pub(crate) fn fill(
        &mut self,
        protocol: Protocol,
        asked: &StockRequest,
        crew: &Crew,
        watch: &Observe,
    ) -> Result<(Preprocessed, Vec<PhaseReport>), Error> {
        let (role, request) = (self.role, self.request.clone());
        let Some(store) = self.store.clone() else {
            return Err(Error::usage("there is no store for the stock", "call `store` with a store"));
        };
        let (keys, mut place, identity) = self.reach()?;
        let (cot, terms) = (request.parameters.cot(), terms(&request, ordered(role, keys)));
        let opening = |channel, watch| UngreetedConnection {
            party: role,
            channel,
            store: &store,
            terms: &terms,
            cot,
            watch,
        };
        if crew.workers == 0 {
            let line = Stocked::open(protocol, opening(place.first()?, watch))?;
            let (done, line) = line.make(asked)?;
            return Ok((done, line.close()?));
        }
        let line = opening(place.first()?, &|_| Box::new(Unobserved));
        let line = Stocked::open_for_workers(protocol, crew.workers, line)?;
        let connect = match &place {
            Route::Peer { address, .. } => Some((*address).to_owned()),
            _ => None,
        };
        // The addresses of the peer's workers: first the peer's makers, then the peer itself for the other
        // workers.
        let mut at = crew.worker_at.iter();
        let (peer, resources) = (keys[1], request.resources);
        let caller = Caller { identity, pem: crew.pem, peer, role, resources };
        let makers: Vec<Channel> = crew
            .makers
            .iter()
            .map(|maker| caller.call(maker, at.next().or(connect.as_ref()).cloned()))
            .collect::<Result<_, _>>()?;
        let options = resources.options(role);
        let line_of_worker = |_| match at.next() {
            Some(address) => tls::connect(address, identity, peer, &options),
            None => place.next(options.timeout),
        };
        let lines = (makers.len()..crew.workers).map(line_of_worker).collect::<Result<Vec<_>, _>>()?;
        let (done, phases, line) = line.make_by(asked, lines, makers)?;
        Ok((done, together(line.close()?, phases)))
    }

    /// Begins a session with the peer on both parties' stores. The session takes the accepted protocol whose
    /// stock the store holds, or else DUPLO.
    ///
    /// # Errors
    /// An error of usage without a store. Also errors of the network, and an error if the stores do not
    /// belong together.
    pub fn session(&mut self) -> Result<Session, Error> {
        self.session_watched(&|_| Box::new(Unobserved))
    }

    /// Does the same as [`Party::session`], and shows the progress to an observer.
    #[doc(hidden)]
    pub fn session_watched(&mut self, watch: &Observe) -> Result<Session, Error> {
        let (role, request) = (self.role, self.request.clone());
        let Some(store) = self.store.clone() else {
            let hint = "call `store` with a store, or call `session_of` with the programs";
            return Err(Error::usage("a session needs a store", hint));
        };
        check_stocked_session(&request)?;
        let (keys, mut place, _) = self.reach()?;
        // The session must not take a protocol of the store that this party does not accept.
        let ways = request.from_stock(Some(&store), &ordered(role, keys))?;
        let protocol = ways.requests[0].parameters.protocol;
        let channel = place.meet_alike(&digest(&request, protocol, &[]))?;
        let (cot, terms) = (request.parameters.cot(), terms(&request, ordered(role, keys)));
        let opening = UngreetedConnection { party: role, channel, store: &store, terms: &terms, cot, watch };
        let line = Stocked::open(protocol, opening)?;
        Ok(Session::from_stock(role, protocol, line))
    }

    /// Begins a session without a store. All items that these programs take are made now, and are kept in
    /// memory. The number beside a program limits its runs. The protocol is DUPLO unless one is named.
    ///
    /// # Errors
    /// An error of usage if the protocol has no sessions without a store, and any error of the network or of
    /// the protocol.
    ///
    /// ```
    /// use brickwork::{Identity, Inputs, Party, Program};
    ///
    /// let text = "#parties 2\n#input 1 uint_t 8\n#input 2 uint_t 8\n#output 1 uint_t 8\n\
    ///             function void main() { output1 = input1 + input2; }";
    /// let program = Program::from_source("add.wir", text)?;
    /// let ((alice, _), (bob, _)) = (Identity::generate()?, Identity::generate()?);
    /// let (to_bob, to_alice) = (alice.public_key(), bob.public_key());
    /// let mut garbler = Party::garbler(alice).peer(to_alice).listen("127.0.0.1:0");
    /// let address = garbler.bind()?.to_string();
    /// let other = program.clone();
    /// let bob = std::thread::spawn(move || -> Result<(), brickwork::Error> {
    ///     let mut session = Party::evaluator(bob).peer(to_bob).connect(address).session_of(&[(&other, 1)])?;
    ///     session.run(&other, &Inputs::from(("input2", 2u32)))?;
    ///     session.close().map(drop)
    /// });
    /// let mut session = garbler.session_of(&[(&program, 1)])?;
    /// assert_eq!(session.run(&program, &Inputs::from(("input1", 3u32)))?.outputs.get::<u8>("output1")?, 5);
    /// assert!(session.run(&program, &Inputs::from(("input1", 3u32))).is_err(), "all items are used");
    /// session.close()?;
    /// bob.join().expect("no panic")?;
    /// # Ok::<(), brickwork::Error>(())
    /// ```
    pub fn session_of(&mut self, programs: &[(&Program, u32)]) -> Result<Session, Error> {
        self.session_of_watched(programs, &|_| Box::new(Unobserved))
    }

    /// Does the same as [`Party::session_of`], and shows the progress to an observer.
    #[doc(hidden)]
    pub fn session_of_watched(
        &mut self,
        programs: &[(&Program, u32)],
        watch: &Observe,
    ) -> Result<Session, Error> {
        let mut needs = SessionNeeds::default();
        programs.iter().for_each(|(program, times)| needs.add(program.given(), *times as usize));
        let left: Vec<_> = programs.iter().map(|(program, times)| (program.digest(), *times)).collect();
        let digest = digest(&self.request, self.protocol_of_session()?, &left);
        self.session_made(needs, &digest, Some(left), watch)
    }

    /// Begins a session for these items, with a peer that has the same digest of it.
    #[doc(hidden)]
    pub fn session_made(
        &mut self,
        needs: SessionNeeds,
        digest: &[u8],
        left: Option<Vec<([u8; 32], u32)>>,
        watch: &Observe,
    ) -> Result<Session, Error> {
        let (role, request, protocol) = (self.role, self.request.clone(), self.protocol_of_session()?);
        let begin = protocols::sessions(protocol)?;
        let (keys, mut place, _) = self.reach()?;
        let channel = place.meet_alike(digest)?;
        let terms = terms(&request, ordered(role, keys));
        Ok(Session::made(role, protocol, begin(role, channel, &terms, needs, watch)?, left))
    }

    /// Returns the accepted protocol that runs a session in memory: DUPLO, or else the first that has such
    /// sessions.
    fn protocol_of_session(&self) -> Result<Protocol, Error> {
        let accepted: Vec<_> = self.request.parameters.protocol.iter().collect();
        if accepted.contains(&Protocol::OF_NEW_STOCK) {
            return Ok(Protocol::OF_NEW_STOCK);
        }
        let has_sessions = accepted.iter().copied().find(|protocol| protocols::sessions(*protocol).is_ok());
        has_sessions.map_or_else(|| protocols::sessions(accepted[0]).map(|_| accepted[0]), Ok)
    }

    /// Returns how to reach the peer, with the public keys of this party and of its peer, and this party's
    /// key.
    fn reach(&mut self) -> Result<([PublicKey; 2], Route<'_>, &Identity), Error> {
        let nobody = PublicKey::from_bytes([0; 32]);
        let keys = match (&self.line, self.peer) {
            // A caller's connection is not protected by keys. A store needs both keys even so, because it
            // belongs to them.
            (Some(Transport::Own(_)), None) if self.store.is_none() => [nobody; 2],
            _ => [self.identity.public_key(), self.peer_key()?],
        };
        if matches!(self.line, Some(Transport::Listen(_))) {
            self.bind()?;
        }
        let options = self.request.resources.options(self.role);
        let place = match &mut self.line {
            Some(Transport::Own(channel)) => Route::Line(channel.take()),
            Some(Transport::Listen(_)) => match &self.listener {
                Some(listener) => Route::Listener(listener),
                None => return Err(Error::fault("a party that listens has no listener")),
            },
            Some(Transport::Connect(address)) => {
                Route::Peer { address, identity: &self.identity, peer: keys[1], options }
            }
            None => {
                let hint = "call `listen`, `connect` or `over`";
                return Err(Error::usage("there is no connection to the peer", hint));
            }
        };
        Ok((keys, place, &self.identity))
    }

    fn peer_key(&self) -> Result<PublicKey, Error> {
        let none =
            || Error::usage("the key of the peer is missing", "call `peer` with the peer's public key");
        self.peer.ok_or_else(none)
    }
}

impl fmt::Debug for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Party").field("role", &self.role).finish_non_exhaustive()
    }
}

/// The workers of a filling, if there are several.
#[derive(Default)]
pub(crate) struct Crew<'c> {
    /// The number of all workers; 0 for a filling over one connection.
    pub workers: usize,
    /// The workers of this party on other machines.
    pub makers: &'c [Hired],
    /// The addresses of the peer's workers on other machines.
    pub worker_at: &'c [String],
    /// The key of this party in PEM form, which makers need.
    pub pem: &'c str,
}

/// Adds up each phase over all connections: the time of the slowest connection, and all bytes.
fn together(line: Vec<PhaseReport>, workers: Vec<Vec<PhaseReport>>) -> Vec<PhaseReport> {
    let mut all: Vec<PhaseReport> = Vec::new();
    for phase in line.into_iter().chain(workers.into_iter().flatten()) {
        match all.iter_mut().find(|known| known.name == phase.name) {
            None => all.push(phase),
            Some(known) => {
                known.seconds = known.seconds.max(phase.seconds);
                known.garbler_sent_bytes += phase.garbler_sent_bytes;
                known.evaluator_sent_bytes += phase.evaluator_sent_bytes;
                known.spans.clear();
            }
        }
    }
    all
}

/// Refuses parameters that have no effect in a session from stock.
pub(crate) fn check_stocked_session(request: &RunRequest<Protocols>) -> Result<(), Error> {
    let parameters = &request.parameters;
    if parameters.post_quantum {
        return Err(Error::usage(
            "--post-quantum cannot be used with a store: the security of stock rests on base OTs from an \
             elliptic curve",
            "leave the store or --post-quantum out",
        ));
    }
    let security = parameters.security;
    let wishes =
        parameters.protocol.only().map(|protocol| StockOptions { security, ..StockOptions::new(protocol) });
    wishes.map_or(Ok(()), |wishes| wishes.check())
}

/// Returns the terms of a session between these parties.
fn terms(request: &RunRequest<Protocols>, identities: [[u8; 32]; 2]) -> Terms {
    Terms {
        security: request.parameters.security().into(),
        threads: request.resources.threads(),
        table_memory: TABLE_MEMORY,
        identities,
        post_quantum: request.parameters.post_quantum,
    }
}

/// Returns a digest of a session, which both parties compare: its terms, and for each program of a session
/// without a store the digest and the number of runs.
fn digest(request: &RunRequest<Protocols>, protocol: Protocol, programs: &[([u8; 32], u32)]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 session");
    hasher.update(protocol.name().as_bytes()).update(&request.parameters.security().to_le_bytes());
    hasher.update(&[request.parameters.post_quantum.into(), request.stored.into()]);
    for (program, times) in programs {
        hasher.update(program).update(&times.to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Runs a party at this place.
fn run_at(
    part: &RunPart,
    store: Option<Store>,
    place: Route,
    input: &[bool],
    watch: &Observe,
) -> Result<Run, Error> {
    let PartyRun { outputs, report, .. } = run::run(part, store, place, false, input, watch)?;
    Ok(Run { outputs: Outputs::decode(&part.given.outputs(part.party), &outputs), report })
}

/// Runs both parties in this process, each on a thread of its own. Returns the results of the garbler and of
/// the evaluator.
///
/// # Errors
/// As [`Party::run`].
///
/// ```
/// use brickwork::{Program, run_local};
///
/// let program = Program::from_source(
///     "richer.wir",
///     "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n#output 2 uint_t 1\n\
///      function void main() { output1 = input1 > input2; output2 = output1; }",
/// )?;
/// let [garbler, _] = run_local(&program, ("input1", 1_250_000u32), ("input2", 1_000_000u32))?;
/// assert!(garbler.outputs.get::<bool>("output")?);
/// println!("{}", garbler.report.promise);
/// # Ok::<(), brickwork::Error>(())
/// ```
pub fn run_local(
    program: &Program,
    garbler: impl Into<Inputs>,
    evaluator: impl Into<Inputs>,
) -> Result<[Run; 2], Error> {
    let request = RunRequest::new(AgreedParameters::new(Protocols::auto()));
    let inputs = [
        garbler.into().encode(program.inputs(Role::Garbler))?,
        evaluator.into().encode(program.inputs(Role::Evaluator))?,
    ];
    let nobody = [PublicKey::from_bytes([0; 32]); 2];
    let (left, right) = memory_pair();
    let play = |role, channel, input: &[bool]| {
        let part = RunPart { party: role, request: &request, given: program, keys: nobody, warns: true };
        run_at(&part, None, Route::Line(Some(channel)), input, &|_| Box::new(Unobserved))
    };
    let (garbler, evaluator) = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| play(Role::Garbler, left, &inputs[0]));
        let evaluator = play(Role::Evaluator, right, &inputs[1]);
        (garbler.join().unwrap_or_else(|_| Err(Error::fault("the garbler's thread panicked"))), evaluator)
    });
    match (garbler, evaluator) {
        // A party that fails closes the connection, so the other party only gets an error of the network.
        (Err(error), Err(other)) if error.kind() == ErrorKind::Network => Err(other),
        (garbler, evaluator) => Ok([garbler?, evaluator?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session in memory takes no protocol that the party does not accept.
    #[test]
    fn a_session_takes_an_accepted_protocol() {
        let (identity, _) = Identity::generate().unwrap();
        let mut party = Party::garbler(identity);
        let mut taken = |accepted: &[Protocol]| {
            party.accept(accepted.iter().copied());
            party.protocol_of_session().map_err(|error| error.kind())
        };
        assert_eq!(taken(&[]), Ok(Protocol::DUPLO));
        assert_eq!(taken(&[Protocol::LEGO, Protocol::DUPLO]), Ok(Protocol::DUPLO));
        assert_eq!(taken(&[Protocol::LEGO, Protocol::AUTHENTICATED]), Ok(Protocol::AUTHENTICATED));
        assert_eq!(taken(&[Protocol::LEGO, Protocol::JIMU]), Err(ErrorKind::Usage));
    }
}
