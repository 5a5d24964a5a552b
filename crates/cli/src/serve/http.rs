//! The HTTP server for requests from this machine, with JSON, a token, and pages without secrets.
//!
//! Any program of this machine can connect, and so can a web page in a browser. Without the token they get
//! only the pages without secrets. Requests without the token never delay those with it: both are counted
//! separately. If there are too many connections, the oldest one without a waiting run is closed.

use std::collections::VecDeque;
use std::convert::Infallible;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brickwork::circuit::value;
use brickwork_kernels::Erasing;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue,
    ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::uri::Authority;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use zeroize::Zeroizing;

use super::config::NamedToken;
use super::desk::{Desk, DeskAnswer, Policy, Reason, RequestRefusal, Why};
use super::lines::MAX_ID;
use super::page;
use super::place::{Door, HttpStream};
use super::rate::RateLimit;

/// The time in which a client must send its headers, and again its body.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time for which a status page is reused.
const PAGE_AGE: Duration = Duration::from_millis(500);

/// The state that all connections share.
struct Front {
    desk: Arc<Desk>,
    /// The connections, oldest first.
    connections: Mutex<VecDeque<Connection>>,
    with_token: RateLimit,
    without_token: RateLimit,
    /// The last status page and its time. It is kept because making the page reads the store.
    page: tokio::sync::Mutex<Option<(Instant, Bytes)>>,
}

/// A connection.
struct Connection {
    number: u64,
    task: AbortHandle,
    /// True while a user with the token waits for a run. Then the connection must stay open.
    stays: Arc<AtomicBool>,
}

impl Connection {
    fn may_go(&self) -> bool {
        !self.stays.load(Ordering::SeqCst)
    }
}

/// Keeps a connection open until it is dropped.
struct Stays<'a>(&'a AtomicBool);

impl<'a> Stays<'a> {
    fn new(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::SeqCst);
        Stays(flag)
    }
}

impl Drop for Stays<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Front {
    fn connections(&self) -> MutexGuard<'_, VecDeque<Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for one more connection, by closing the oldest connection without a waiting run. Returns
    /// whether there is room.
    fn make_room(&self) -> bool {
        let config = self.desk.config();
        let most = config.limits.connections;
        let mut connections = self.connections();
        while connections.iter().filter(|connection| connection.may_go()).count() >= most {
            let oldest = connections.iter().position(Connection::may_go);
            if let Some(oldest) = oldest.and_then(|place| connections.remove(place)) {
                oldest.task.abort();
            }
        }
        connections.len() < most + config.limits.waiting
    }
}

/// Removes a connection from the list when its task ends, for whatever reason.
struct Listed {
    front: Arc<Front>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.front.connections().retain(|connection| connection.number != self.number);
    }
}

/// Serves requests at a socket as long as the process lives.
pub async fn serve(desk: Arc<Desk>, door: Door) {
    let front = Arc::new(Front {
        desk,
        connections: Mutex::default(),
        with_token: RateLimit::new(),
        without_token: RateLimit::new(),
        page: tokio::sync::Mutex::default(),
    });
    for number in 0.. {
        let stream = match door.accept().await {
            Ok(accepted) => accepted,
            Err(e) => {
                // The process has no free file descriptor now, but will have one again.
                tracing::debug!("the service could not accept a connection for a request: {e}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        if !front.make_room() {
            continue;
        }
        let (stays, tls) = (Arc::new(AtomicBool::new(false)), front.desk.config().tls.clone());
        let (listed, flag) = (Listed { front: front.clone(), number }, stays.clone());
        let task = tokio::spawn(async move {
            let (front, flag) = (&*listed.front, &*flag);
            let stream: Box<dyn HttpStream> = match tls {
                None => stream,
                Some(tls) => match tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
                    Ok(Ok(stream)) => Box::new(stream),
                    _ => return tracing::debug!("a client does not use TLS as it should"),
                },
            };
            let service =
                service_fn(|request| async move { Ok::<_, Infallible>(answer(front, flag, request).await) });
            let served = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(64 << 10)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            if let Err(e) = served {
                tracing::debug!("a request failed: {e}");
            }
        });
        // The task has not begun yet: there is only one thread, and it has not awaited anything since.
        front.connections().push_back(Connection { number, task: task.abort_handle(), stays });
        // Now the task begins. So a request that has been received keeps its connection, however many others
        // come later.
        tokio::task::yield_now().await;
    }
}

type Reply = Response<Full<Bytes>>;

async fn answer(front: &Front, stays: &AtomicBool, request: Request<Incoming>) -> Reply {
    let config = front.desk.config();
    let token = config.token(given_token(&request));
    let rate = if token.is_some() { &front.with_token } else { &front.without_token };
    // This path has no rate limit, because a supervisor restarts a process that does not answer here.
    let is_alive = request.uri().path() == "/health";
    let reply = if !is_alive && !rate.takes(config.limits.requests_per_second) {
        let hint = "send fewer requests, or raise requests_per_second in [limits]";
        refused(&RequestRefusal::new(429, "too many requests", hint).after(1))
    } else if let Err(why) = is_for_here(&request, config.tls.is_some()) {
        refused(&why)
    } else {
        routed(front, stays, token.as_ref(), request).await
    };
    front.desk.figures.answered(reply.status().as_u16());
    reply
}

/// Returns the token that the request contains; an empty text if there is none.
fn given_token(request: &Request<Incoming>) -> &[u8] {
    let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    // The name of the scheme may have letters of either case (RFC 9110, section 11.1).
    let given = given.and_then(|given| given.split_at_checked(b"bearer ".len()));
    given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer ")).unwrap_or_default().1
}

/// Refuses requests that a web page may have sent: from another origin, or with a host name that an attacker
/// has pointed at this machine. With TLS the certificate ensures the name.
fn is_for_here(request: &Request<Incoming>, has_tls: bool) -> Result<(), RequestRefusal> {
    let headers = request.headers();
    let host = match request.uri().authority() {
        Some(authority) => Some(authority.clone()),
        None => headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok()),
    };
    let is_here = |host: &Authority| {
        let name = host.host();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    };
    let Some(host) = host.filter(|host| has_tls || is_here(host)) else {
        let hint = "send the request to localhost or 127.0.0.1, so that its header Host has this name";
        return Err(RequestRefusal::new(421, "the header Host of the request names another host", hint));
    };
    let own = format!("{}://{host}", if has_tls { "https" } else { "http" });
    match headers.get_all(ORIGIN).iter().all(|origin| origin.as_bytes() == own.as_bytes()) {
        true => Ok(()),
        false => Err(RequestRefusal::new(
            403,
            "a web page sent this request",
            "send requests from a program on this machine, not from a web page",
        )),
    }
}

async fn routed(
    front: &Front,
    stays: &AtomicBool,
    token: Option<&Arc<NamedToken>>,
    request: Request<Incoming>,
) -> Reply {
    let desk = &front.desk;
    // The answer to HEAD has the same headers, and the server leaves out the body.
    let get = matches!(*request.method(), Method::GET | Method::HEAD);
    match request.uri().path() {
        "/" if get => text("text/html; charset=utf-8", status_page(front).await),
        "/metrics" if get => {
            let [waiting, announced] = desk.waiting();
            desk.figures.waiting(waiting);
            desk.figures.announced(announced);
            match knows_openmetrics(&request) {
                true => text(OPENMETRICS, desk.figures.text()),
                false => text(PROMETHEUS, prometheus(&desk.figures.text())),
            }
        }
        // The first path tells whether the process is alive, and the second whether it would serve a request.
        "/health" if get => json_reply(200, &State { status: "up", reason: None, reasons: &[] }),
        "/ready" if get => match desk.not_ready() {
            reasons if reasons.is_empty() => {
                json_reply(200, &State { status: "ready", reason: None, reasons: &reasons })
            }
            reasons => {
                let reason = reasons.first().map(|reason| &*reason.text);
                json_reply(503, &State { status: "not ready", reason, reasons: &reasons })
            }
        },
        "/run" if *request.method() == Method::POST => match asked(desk, stays, token, request).await {
            Ok(answered) => json_reply(200, &answered),
            Err(why) => refused(&why),
        },
        "/run" => not_allowed("POST"),
        "/" | "/metrics" | "/health" | "/ready" => not_allowed("GET, HEAD"),
        _ => refused(&RequestRefusal::new(
            404,
            "the service has no page with this path",
            "use POST /run, or GET /, /metrics, /health or /ready",
        )),
    }
}

/// The state of the service.
#[derive(Serialize)]
struct State<'a> {
    status: &'static str,
    /// The first of the reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Reason]>::is_empty")]
    reasons: &'a [Reason],
}

/// The answer to a request whose program has run.
#[derive(Serialize)]
struct Answered {
    program: String,
    id: Option<String>,
    outputs: Value,
    seconds: f64,
    /// The budget of the program with the peer. Absent if the program is not allowed any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<Policy>,
}

/// The content type of metrics in the OpenMetrics format.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The content type of metrics in the older Prometheus format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns whether the client accepts the OpenMetrics format.
fn knows_openmetrics(request: &Request<Incoming>) -> bool {
    let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.into_iter().any(|types| types.contains("application/openmetrics-text"))
}

/// Converts metrics to the older Prometheus format, in which the name of a counter includes its suffix, and
/// which has no units and no end mark.
fn prometheus(openmetrics: &str) -> String {
    let counters: Vec<&str> = openmetrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT ")) {
        let comment = ["# HELP ", "# TYPE "].into_iter().find(|comment| line.starts_with(comment));
        let named = comment.and_then(|comment| Some((comment, line[comment.len()..].split_once(' ')?)));
        match named {
            Some((comment, (name, rest))) if counters.contains(&name) => {
                text.extend([comment, name, "_total ", rest]);
            }
            _ => text += line,
        }
        text.push('\n');
    }
    text
}

/// Returns the status page. If the last page is old, a new one is made, only once for all waiting requests.
async fn status_page(front: &Front) -> Bytes {
    let mut last = front.page.lock().await;
    if let Some((made, page)) = &*last
        && made.elapsed() < PAGE_AGE
    {
        return page.clone();
    }
    let desk = front.desk.clone();
    // Making the page waits for the store, and must not block other requests.
    let made = tokio::task::spawn_blocking(move || page::page(&desk)).await;
    let page = Bytes::from(made.unwrap_or_default());
    *last = Some((Instant::now(), page.clone()));
    page
}

/// Answers a request for a run.
async fn asked(
    desk: &Arc<Desk>,
    stays: &AtomicBool,
    token: Option<&Arc<NamedToken>>,
    request: Request<Incoming>,
) -> Result<Answered, RequestRefusal> {
    let Some(token) = token else {
        desk.note_wrong_token();
        return Err(RequestRefusal::new(
            401,
            "the token is missing or wrong",
            "send the header `Authorization: Bearer TOKEN` with the content of the token's file",
        ));
    };
    let _stays = Stays::new(stays);
    let config = desk.config();
    let body = Limited::new(request.into_body(), config.limits.request_bytes).collect();
    let body = tokio::time::timeout(PATIENCE, body).await;
    let body = body.map_err(|_| {
        RequestRefusal::new(
            408,
            "the request's body did not come in time",
            "send the body together with the headers",
        )
    })?;
    let body = body.map_err(|_| {
        RequestRefusal::new(
            413,
            format!("the request's body is longer than {} bytes", config.limits.request_bytes),
            "send less, or raise request_bytes in [limits]",
        )
    })?;
    let begun = Instant::now();
    let bytes = Zeroizing::new(body.to_bytes().to_vec());
    let (here, holder) = (desk.clone(), token.clone());
    // This may wait for the disk, and must not block other requests.
    let submitted = tokio::task::spawn_blocking(move || Submitted::of(&here, &bytes, &holder)).await;
    let Submitted { program, id, answered } = submitted.unwrap_or_else(|_| Err(broken()))?;
    // A client that closes the connection withdraws the request, unless it runs already.
    let answer = answered.await.unwrap_or_else(|_| Err(Why::Stopping.into()));
    if let Err(why) = &answer
        && !why.is_of_run()
    {
        desk.note_refusal(config.named(&program), marked(&id).as_deref(), Some(token), why);
    }
    let (outputs, seconds) = (answer?, begun.elapsed().as_secs_f64());
    let here = desk.clone();
    // The budget is read under a lock that waits for the disk.
    let policy = tokio::task::spawn_blocking(move || {
        let budget = here.config().named(&program).map(|allowed| here.policy(allowed));
        (program, budget)
    });
    let (program, budget) = policy.await.map_err(|_| broken())?;
    Ok(Answered { program, id, outputs, seconds, budget })
}

fn broken() -> RequestRefusal {
    RequestRefusal::new(
        500,
        "the service failed on this request, which is a fault of brickwork",
        "the log of the service says more",
    )
}

/// A request that waits for its answer.
struct Submitted {
    program: String,
    id: Option<String>,
    answered: oneshot::Receiver<DeskAnswer>,
}

impl Submitted {
    /// Reads a request, and puts it into the queue.
    fn of(desk: &Desk, bytes: &[u8], token: &Arc<NamedToken>) -> Result<Self, RequestRefusal> {
        let _erasing = Erasing::begin();
        let hint = "send {\"program\": NAME, \"input\": VALUE} and, if you like, \"id\": TEXT";
        let wrong = |why: &str| RequestRefusal::new(400, why, hint);
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("the body of the request is not text"))?;
        let value = value::parse(text).map_err(|_| wrong("the body of the request is not JSON"))?;
        let Value::Object(fields) = value else {
            return Err(wrong("the body of the request is not a JSON object"));
        };
        if !fields.keys().all(|key| ["program", "id", "input"].contains(&key.as_str())) {
            return Err(wrong("the request has a field that is neither program, id nor input"));
        }
        let program = fields
            .get("program")
            .and_then(Value::as_str)
            .ok_or_else(|| wrong("the request has no field program"))?;
        let id = match fields.get("id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id))
                if (1..=MAX_ID).contains(&id.len()) && id.chars().all(|c| c.is_ascii_graphic()) =>
            {
                Some(id.clone())
            }
            Some(_) => return Err(wrong("id must be a text of 1 to 64 printable characters without spaces")),
        };
        let input = fields.get("input").unwrap_or(&Value::Null);
        let answered = desk.submit(program, marked(&id), input, token).inspect_err(|why| {
            desk.note_refusal(desk.config().named(program), marked(&id).as_deref(), Some(token), why);
        })?;
        Ok(Submitted { program: program.to_owned(), id, answered })
    }
}

/// Marks an id that a user has given, so that it differs from every generated id.
fn marked(id: &Option<String>) -> Option<String> {
    id.as_ref().map(|id| format!("={id}"))
}

fn text(kind: &'static str, text: impl Into<Bytes>) -> Reply {
    // With this policy the page loads nothing, runs no script, and cannot be embedded in another page.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    built(Response::builder().header(CONTENT_SECURITY_POLICY, policy), kind, text)
}

fn json_reply(status: u16, value: &impl Serialize) -> Reply {
    // Values, names and numbers always have a JSON form.
    let text = serde_json::to_string(value).unwrap_or_default();
    built(Response::builder().status(status), "application/json", text + "\n")
}

fn refused(why: &RequestRefusal) -> Reply {
    let mut reply = json_reply(why.status, why);
    if let Some(seconds) = why.retry_after {
        reply.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    if why.status == 401 {
        // A 401 answer must name the scheme of authentication (RFC 9110, section 15.5.2).
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    reply
}

/// Refuses a method, and lists the allowed ones (RFC 9110, section 15.5.6).
fn not_allowed(methods: &'static str) -> Reply {
    let mut reply = refused(&RequestRefusal::new(
        405,
        "this path does not accept the method",
        "use POST for /run, and GET for all other paths",
    ));
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    reply
}

fn built(reply: hyper::http::response::Builder, kind: &'static str, text: impl Into<Bytes>) -> Reply {
    let reply = reply.header(CONTENT_TYPE, kind).header(CACHE_CONTROL, "no-store");
    // A page of another origin cannot load the answer as an image, a script or a style.
    let reply =
        reply.header(X_CONTENT_TYPE_OPTIONS, "nosniff").header("cross-origin-resource-policy", "same-origin");
    reply.body(Full::new(text.into())).expect("statuses and headers of this file are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_suffix_in_the_older_form() {
        let openmetrics = "# HELP runs Runs.\n# TYPE runs counter\nruns_total{a=\"b\"} 3\n# HELP up Up.\n\
                           # TYPE up gauge\n# UNIT up seconds\nup 1\n# EOF\n";
        let older = "# HELP runs_total Runs.\n# TYPE runs_total counter\nruns_total{a=\"b\"} 3\n\
                     # HELP up Up.\n# TYPE up gauge\nup 1\n";
        assert_eq!(prometheus(openmetrics), older);
    }
}
