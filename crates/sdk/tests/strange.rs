//! What answers on the socket may be anything.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use safepoint_sdk::{Client, Error};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

/// Answers the first request with these bytes and hangs up.
async fn answered(bytes: &[u8]) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let client = Client::at(&socket);
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).await.unwrap();
            request.push(byte[0]);
        }
        stream.write_all(bytes).await.unwrap();
    };
    let (asked, ()) = tokio::join!(client.status(), server);
    asked.unwrap_err()
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_not_an_answer() {
    for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"] {
        let error = answered(bytes).await;
        assert!(matches!(error, Error::Broken { .. }), "{error:?}");
        assert!(error.is_passing());
    }
}

#[tokio::test]
async fn an_answer_that_no_agent_gives_is_told_as_such() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"[..],
        b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nwhat",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\nnot found",
    ] {
        let error = answered(bytes).await;
        assert!(matches!(error, Error::Strange { .. }), "{error:?}");
        assert!(!error.is_passing());
    }
}

#[tokio::test]
async fn whatever_is_no_http_is_not_an_answer() {
    assert!(matches!(answered(b"SSH-2.0-OpenSSH\r\n\r\n").await, Error::Broken { .. }));
}
