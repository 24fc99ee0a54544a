//! One request, one connection: HTTP/1.1 over the agent's unix socket.
//!
//! A connection to a socket on the same machine costs nothing worth keeping, and a connection that is not kept is never
//! found dead. The connection is driven by whoever waits for the answer, so nothing runs in the background.

use std::future::Future;
use std::path::Path;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use safepoint_api::local::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::Error;

/// The longest answer that is read. A log page of a thousand long lines is a fraction of it.
const LONGEST: usize = 64 * 1024 * 1024;
/// How long connecting may take: the kernel answers at once unless the agent's queue is full.
const CONNECT: Duration = Duration::from_secs(5);

/// What drives a connection.
pub(crate) type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// What to ask.
pub(crate) struct Ask<'a> {
    pub(crate) socket: &'a Path,
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) patience: Duration,
}

/// Asks, and reads the answer as JSON.
pub(crate) async fn ask<T: DeserializeOwned>(ask: Ask<'_>) -> Result<T, Error> {
    let socket = ask.socket;
    let bytes = whole(ask).await?;
    read(socket, &bytes)
}

/// Asks, and reads the answer as text.
pub(crate) async fn text(ask: Ask<'_>) -> Result<String, Error> {
    let bytes = whole(ask).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A body as it is sent.
pub(crate) fn json(body: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body).map_err(|error| Error::Asked(error.to_string()))
}

async fn whole(ask: Ask<'_>) -> Result<Bytes, Error> {
    let (socket, patience) = (ask.socket, ask.patience);
    let exchange = async {
        let (mut sender, driver) = connect(socket).await?;
        let exchange = async {
            let response = sender.send_request(request(ask)?).await.map_err(|error| broken(socket, error))?;
            let code = response.status();
            let body = Limited::new(response.into_body(), LONGEST).collect().await;
            Ok((code, body.map_err(|error| broken(socket, error))?.to_bytes()))
        };
        driven(driver, exchange).await
    };
    match timeout(patience, exchange).await {
        Ok(answered) => {
            let (code, bytes) = answered?;
            if code.is_success() { Ok(bytes) } else { Err(refused(socket, code, &bytes)) }
        }
        Err(_) => Err(Error::Slow { socket: socket.into(), seconds: patience.as_secs() }),
    }
}

/// Opens a stream: the answer's head is read, its body is not.
pub(crate) async fn open(ask: Ask<'_>) -> Result<(Incoming, Driver), Error> {
    let (socket, patience) = (ask.socket, ask.patience);
    let opening = async {
        let (mut sender, mut driver) = connect(socket).await?;
        let request = request(ask)?;
        let head = async { sender.send_request(request).await.map_err(|error| broken(socket, error)) };
        let response: Response<Incoming> = driven(&mut driver, head).await?;
        let code = response.status();
        if code.is_success() {
            return Ok((response.into_body(), driver));
        }
        let said = async {
            let body = Limited::new(response.into_body(), LONGEST).collect().await;
            body.map_err(|error| broken(socket, error))
        };
        Err(refused(socket, code, &driven(driver, said).await?.to_bytes()))
    };
    match timeout(patience, opening).await {
        Ok(opened) => opened,
        Err(_) => Err(Error::Slow { socket: socket.into(), seconds: patience.as_secs() }),
    }
}

async fn connect(socket: &Path) -> Result<(http1::SendRequest<Full<Bytes>>, Driver), Error> {
    let unreachable = |source| Error::Unreachable { socket: socket.into(), source };
    let connecting = timeout(CONNECT, UnixStream::connect(socket)).await;
    let stream = connecting.map_err(|_| unreachable(std::io::ErrorKind::TimedOut.into()))?;
    let stream = stream.map_err(unreachable)?;
    let (sender, driver) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(socket, error))?;
    Ok((sender, Box::pin(driver)))
}

fn request(ask: Ask<'_>) -> Result<Request<Full<Bytes>>, Error> {
    Request::builder()
        .method(ask.method)
        .uri(ask.path)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::from(ask.body.unwrap_or_default()))
        .map_err(|error| Error::Asked(error.to_string()))
}

/// Does something on a connection while it is driven.
async fn driven<T>(
    driver: impl Future<Output = hyper::Result<()>>,
    doing: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let (driver, mut doing) = (pin!(driver), pin!(doing));
    tokio::select! {
        biased;
        done = &mut doing => done,
        // What has arrived can still be read; what has not is missed there.
        _ = driver => doing.await,
    }
}

fn read<T: DeserializeOwned>(socket: &Path, bytes: &[u8]) -> Result<T, Error> {
    // Some answers have no body.
    let bytes = if bytes.is_empty() { b"null" } else { bytes };
    serde_json::from_slice(bytes)
        .map_err(|error| Error::Strange { socket: socket.into(), what: error.to_string() })
}

fn refused(socket: &Path, code: StatusCode, bytes: &[u8]) -> Error {
    match serde_json::from_slice::<Failure>(bytes) {
        Ok(failure) => Error::Refused(Box::new(failure)),
        Err(_) => Error::Strange { socket: socket.into(), what: format!("it answers {code}") },
    }
}

fn broken(socket: &Path, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Broken { socket: socket.into(), source: error.into() }
}
