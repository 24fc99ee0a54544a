//! The one HTTP request that probes and hooks make: a GET of which only the status counts.
//!
//! A whole client would cost each shim more memory than everything else it does.

use std::io;

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

use crate::spec::HttpAction;

/// Enough for any status line; the rest of an answer is not read.
const HEAD: usize = 1024;

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: bool,
    head: String,
}

// === impl Request ===

impl Request {
    pub(crate) fn of(action: &HttpAction, port: u16) -> Self {
        let host = if action.host.is_empty() { "127.0.0.1".to_owned() } else { action.host.clone() };
        let path = match action.path.as_str() {
            "" => "/".to_owned(),
            path if path.starts_with('/') => path.to_owned(),
            path => format!("/{path}"),
        };
        let clean = |text: &str| text.chars().filter(|c| !c.is_control()).collect::<String>();
        let mut head = format!("GET {} HTTP/1.1\r\n", clean(&path).replace(' ', "%20"));
        let has =
            |name: &str| action.http_headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        if !has("host") {
            head += &format!("Host: {}:{port}\r\n", clean(&host));
        }
        if !has("user-agent") {
            head += "User-Agent: kube-probe/safepoint\r\n";
        }
        if !has("accept") {
            head += "Accept: */*\r\n";
        }
        for header in &action.http_headers {
            head += &format!("{}: {}\r\n", clean(&header.name), clean(&header.value));
        }
        head += "Connection: close\r\n\r\n";
        Self { host, port, tls: action.scheme.eq_ignore_ascii_case("https"), head }
    }
}

/// Makes the request. An answer of 400 or above is an error, as is none. The caller limits the time.
pub(crate) async fn get(request: &Request, tls_allowed: bool) -> io::Result<u16> {
    let stream = TcpStream::connect((request.host.as_str(), request.port)).await?;
    let status = if request.tls && tls_allowed {
        speak(&mut crate::tls::wrap(stream, &request.host).await?, &request.head).await?
    } else {
        let mut stream = stream;
        let status = speak(&mut stream, &request.head).await?;
        // A connection that the prober resets leaves no port behind in TIME_WAIT; probes are many.
        let _ = stream.set_zero_linger();
        status
    };
    if (200..400).contains(&status) {
        Ok(status)
    } else {
        Err(io::Error::other(format!("HTTP probe failed with statuscode: {status}")))
    }
}

async fn speak(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), head: &str) -> io::Result<u16> {
    stream.write_all(head.as_bytes()).await?;
    stream.flush().await?;
    let mut answer = Vec::with_capacity(HEAD);
    while answer.len() < HEAD && !answer.contains(&b'\n') {
        if stream.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    status(&answer).ok_or_else(|| io::Error::other("the answer is no HTTP"))
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.strip_prefix("HTTP/")?;
    line.split(' ').nth(1)?.trim().parse().ok()
}
