//! One call of gRPC: a message with five bytes before it over HTTP/2, and the verdict after the answer.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use super::{Cri, CriError};

/// What gRPC puts before a message: whether it is compressed, and how long it is.
const HEAD: usize = 5;
/// As much as the kubelet accepts from a runtime.
const LONGEST: usize = 16 << 20;
const OK: u32 = 0;
const UNKNOWN: u32 = 2;
const UNIMPLEMENTED: u32 = 12;

/// The tasks of one connection. They end with it.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(async move { drop(task.await) });
    }
}

impl Cri {
    /// Calls a method, and waits for as long as it takes.
    pub(super) async fn ask<Q, A>(&self, method: &str, message: &Q) -> Result<A, CriError>
    where
        Q: prost::Message,
        A: prost::Message + Default,
    {
        let away = |why: &dyn std::fmt::Display| CriError::Unreachable {
            socket: self.socket.clone(),
            why: why.to_string(),
        };
        let stream = UnixStream::connect(&self.socket).await.map_err(|error| away(&error))?;
        // What hyper starts for the connection keeps a handle on where it is started: the tasks have an end of their own.
        let tasks = Tasks::default();
        let ended = Ended(tasks.clone());
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(tasks.clone(), TokioIo::new(stream))
                .await
                .map_err(|error| away(&error))?;
        hyper::rt::Executor::execute(&tasks, connection);
        let request = Request::post(format!("http://localhost/runtime.v1.{method}"))
            .header(header::CONTENT_TYPE, "application/grpc")
            .header(header::TE, "trailers")
            .body(Full::new(framed(message)))
            .map_err(|error| away(&error))?;
        let answer = sender.send_request(request).await.map_err(|error| away(&error))?;
        let (head, body) = answer.into_parts();
        if !head.status.is_success() {
            return Err(self.not_spoken(format!("it answers with {}", head.status)));
        }
        let body = Limited::new(body, LONGEST).collect().await.map_err(|error| away(&error))?;
        let trailers = body.trailers().cloned().unwrap_or_default();
        drop(ended);
        // An answer that is only a refusal has no body, and says so at once.
        let (code, said) =
            verdict(&trailers).or_else(|| verdict(&head.headers)).unwrap_or((UNKNOWN, String::new()));
        match code {
            OK => {}
            UNIMPLEMENTED => return Err(self.not_spoken(said)),
            code => return Err(CriError::Refused { code, message: said }),
        }
        let bytes = body.to_bytes();
        let message = unframed(&bytes).ok_or_else(|| self.not_spoken("its answer is cut off".into()))?;
        A::decode(message).map_err(|error| self.not_spoken(error.to_string()))
    }

    fn not_spoken(&self, why: String) -> CriError {
        CriError::NotSpoken { socket: self.socket.clone(), why }
    }
}

/// Ends the tasks of a connection when its call is over, or is given up.
struct Ended(Tasks);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

fn framed(message: &impl prost::Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(HEAD + length);
    bytes.put_u8(0);
    // A request of ours has some hundred bytes.
    bytes.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    bytes.extend_from_slice(&message.encode_to_vec());
    bytes.freeze()
}

fn unframed(bytes: &[u8]) -> Option<&[u8]> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let length = u32::from_be_bytes(head[1..].try_into().ok()?);
    // We have not said that we can read compressed messages, so there are none.
    (head[0] == 0).then(|| rest.get(..usize::try_from(length).ok()?)).flatten()
}

fn verdict(headers: &HeaderMap) -> Option<(u32, String)> {
    let code = headers.get("grpc-status")?.to_str().ok()?.parse().ok()?;
    let said = headers.get("grpc-message").map(|it| unescaped(it.as_bytes())).unwrap_or_default();
    Some((code, said))
}

/// Messages are written with `%` and two hexadecimal digits for what a header cannot carry.
fn unescaped(bytes: &[u8]) -> String {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..2).filter(|_| *first == b'%');
        let byte =
            digits.and_then(|it| std::str::from_utf8(it).ok()).and_then(|it| u8::from_str_radix(it, 16).ok());
        plain.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &others[2..] } else { others };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::messages::{ContainerMetadata, VersionRequest};
    use super::{framed, unescaped, unframed};

    #[test]
    fn a_message_survives_its_frame() {
        let bytes = framed(&VersionRequest { version: "v1".into() });
        assert_eq!(&bytes[..], [0, 0, 0, 0, 4, 0x0a, 2, b'v', b'1']);
        assert_eq!(unframed(&bytes), Some(&bytes[5..]));
        let empty = framed(&ContainerMetadata::default());
        assert_eq!(unframed(&empty), Some(&[][..]));
    }

    #[test]
    fn half_a_message_is_none() {
        let bytes = framed(&VersionRequest { version: "v1".into() });
        for end in 0..bytes.len() {
            assert_eq!(unframed(&bytes[..end]), None);
        }
    }

    #[test]
    fn messages_of_refusals_are_read() {
        assert_eq!(unescaped(b"no such image%3A %22a%22"), "no such image: \"a\"");
        assert_eq!(unescaped(b"100%"), "100%");
        assert_eq!(unescaped("50 %zz".as_bytes()), "50 %zz");
    }
}
