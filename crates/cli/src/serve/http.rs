//! Requests by HTTP, from this machine: JSON in and out, a token, and pages that hold no secret.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brickwork::circuit::value;
use brickwork_kernels::Erasing;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::desk::{Desk, Refusal};
use super::lines::MAX_ID;
use super::page;
use super::rate::Rate;

/// Seconds that a client has for its headers, and again for its body.
const PATIENCE: Duration = Duration::from_secs(10);

/// The answer to a connection that has no place. It is written without waiting and before anything is read,
/// so the client may see a reset instead.
fn full() -> String {
    let hint = "ask again; connections in [limits] is how many there may be at a time";
    let body = format!("{}\n", Refusal::new(503, "too many connections", hint).after(1).json());
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Serves requests at a socket until the desk stops.
pub async fn serve(desk: Arc<Desk>, listener: TcpListener) {
    let connections = Arc::new(Semaphore::new(desk.config().limits.connections));
    let rate = Arc::new(Rate::new());
    loop {
        let accepted = listener.accept().await;
        let (stream, from): (_, SocketAddr) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                // No file descriptor left: it passes.
                tracing::warn!("a request's connection was not accepted: {e}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else {
            desk.figures.answered(503);
            // As far as it goes: a full socket or a client that is gone is not waited for.
            let _ = stream.try_write(full().as_bytes());
            continue;
        };
        let (desk, rate) = (desk.clone(), rate.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(|request| {
                let (desk, rate) = (desk.clone(), rate.clone());
                async move { Ok::<_, Infallible>(answer(&desk, &rate, request).await) }
            });
            let served = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(64 << 10)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            if let Err(e) = served {
                tracing::debug!("a request from {from}: {e}");
            }
        });
    }
}

/// The type of the metrics: OpenMetrics, or for those who do not know it plain text, which they can read, too.
fn metrics_type(request: &Request<Incoming>) -> &'static str {
    let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    match accepted.into_iter().any(|types| types.contains("application/openmetrics-text")) {
        true => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        false => "text/plain; version=0.0.4; charset=utf-8",
    }
}

type Reply = Response<Full<Bytes>>;

async fn answer(desk: &Desk, rate: &Rate, request: Request<Incoming>) -> Reply {
    let reply = match rate.takes(desk.config().limits.requests_per_second) {
        true => routed(desk, request).await,
        false => refused(
            &Refusal::new(429, "too many requests", "requests_per_second in [limits] is how many pass")
                .after(1),
        ),
    };
    desk.figures.answered(reply.status().as_u16());
    reply
}

async fn routed(desk: &Desk, request: Request<Incoming>) -> Reply {
    let get = *request.method() == Method::GET;
    match request.uri().path() {
        "/" if get => text("text/html; charset=utf-8", page::page(desk)),
        "/metrics" if get => {
            desk.figures.waiting(desk.waiting());
            text(metrics_type(&request), desk.figures.text())
        }
        // Alive; and whether a request would be served.
        "/health" if get => json_reply(200, &json!({ "status": "up" })),
        "/ready" if get => {
            let ready = desk.figures.is_connected() && !desk.is_stopping();
            let status = if ready { "ready" } else { "not ready" };
            json_reply(if ready { 200 } else { 503 }, &json!({ "status": status }))
        }
        "/run" if *request.method() == Method::POST => match asked(desk, request).await {
            Ok(value) => json_reply(200, &value),
            Err(why) => refused(&why),
        },
        "/" | "/metrics" | "/health" | "/ready" | "/run" => {
            refused(&Refusal::new(405, "this method does nothing here", "POST /run, GET the others"))
        }
        _ => refused(&Refusal::new(
            404,
            "there is nothing here",
            "POST /run; GET /, /metrics, /health, /ready",
        )),
    }
}

/// A request for a run.
async fn asked(desk: &Desk, request: Request<Incoming>) -> Result<Value, Refusal> {
    let config = desk.config();
    let shown = request.headers().get(AUTHORIZATION).map(|value| value.as_bytes());
    let token = shown.and_then(|shown| shown.strip_prefix(b"Bearer ")).unwrap_or_default();
    // Hashes of a secret key: how long comparing takes says nothing about the token.
    if blake3::hash(token) != blake3::hash(config.token.as_bytes()) {
        return Err(Refusal::new(
            401,
            "the token is missing or wrong",
            "send `Authorization: Bearer TOKEN` with what the token's file holds",
        ));
    }
    let body = Limited::new(request.into_body(), config.limits.request_bytes).collect();
    let body = tokio::time::timeout(PATIENCE, body).await;
    let body =
        body.map_err(|_| Refusal::new(408, "the request's body did not come in time", "send it at once"))?;
    let body = body.map_err(|_| {
        Refusal::new(
            413,
            format!("the request's body is longer than {} bytes", config.limits.request_bytes),
            "request_bytes in [limits] is how long it may be",
        )
    })?;
    let begun = Instant::now();
    let (program, id, answered) = {
        let _erasing = Erasing::begin();
        let bytes = Zeroizing::new(body.to_bytes().to_vec());
        let hint = "send {\"program\": NAME, \"input\": VALUE} and, if you like, \"id\": TEXT";
        let wrong = |why: &str| Refusal::new(400, why, hint);
        let text = std::str::from_utf8(&bytes).map_err(|_| wrong("the request is no text"))?;
        let value = value::parse(text).map_err(|_| wrong("the request is no JSON"))?;
        let Value::Object(fields) = value else { return Err(wrong("the request is no object")) };
        if let Some(other) = fields.keys().find(|key| !["program", "id", "input"].contains(&key.as_str())) {
            return Err(wrong(&format!("the request has a field {other:?}")));
        }
        let program =
            fields.get("program").and_then(Value::as_str).ok_or_else(|| wrong("program is missing"))?;
        let id = match fields.get("id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id))
                if (1..=MAX_ID).contains(&id.len()) && id.chars().all(|c| c.is_ascii_graphic()) =>
            {
                Some(id.clone())
            }
            Some(_) => return Err(wrong("id is a text of 1 to 64 printable characters without spaces")),
        };
        let input = fields.get("input").unwrap_or(&Value::Null);
        (program.to_owned(), id.clone(), desk.submit(program, id, input)?)
    };
    // Whoever goes away takes the request along, unless it runs already.
    let outputs = answered.await.unwrap_or_else(|_| {
        Err(Refusal::new(503, "the service is going down", "ask again when it is up").after(5))
    })?;
    Ok(json!({ "program": program, "id": id, "outputs": outputs, "seconds": begun.elapsed().as_secs_f64() }))
}

fn text(kind: &'static str, text: String) -> Reply {
    let reply = Response::builder().header(CONTENT_TYPE, kind).header("Cache-Control", "no-store");
    // The page asks for nothing and runs nothing, whatever a browser may think.
    let reply = reply.header(CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'");
    built(reply, text)
}

fn json_reply(status: u16, value: &Value) -> Reply {
    let reply = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    built(reply.header("Cache-Control", "no-store"), format!("{value}\n"))
}

fn refused(why: &Refusal) -> Reply {
    let mut reply = json_reply(why.status, &why.json());
    if let Some(seconds) = why.retry_after {
        reply.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    reply
}

fn built(reply: hyper::http::response::Builder, text: String) -> Reply {
    // Headers of this file's own are valid.
    reply.body(Full::new(Bytes::from(text))).unwrap_or_default()
}
