//! A connection that has to begin.
//!
//! hyper waits for ever for the first bytes of an HTTP/2 connection, before any of its own timers runs. Whoever connects and
//! then says nothing would keep the connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose first bytes have to come in time.
pub struct Awaited<S> {
    stream: S,
    /// How many bytes are still awaited.
    missing: usize,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Awaited<S> {
    /// So many bytes have to be here by then.
    pub fn new(stream: S, bytes: usize, patience: Duration) -> Awaited<S> {
        Awaited { stream, missing: bytes, deadline: Some(Box::pin(sleep(patience))) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Awaited<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.missing = self.missing.saturating_sub(buffer.filled().len() - before);
        if self.missing == 0 {
            self.deadline = None;
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Awaited<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::Awaited;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_says_nothing_is_let_go() {
        let (_peer, stream) = duplex(64);
        let mut stream = Awaited::new(stream, 4, Duration::from_secs(10));
        let error = stream.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_has_begun_may_be_silent() {
        let (mut peer, stream) = duplex(64);
        let mut stream = Awaited::new(stream, 4, Duration::from_secs(10));
        peer.write_all(b"abcd").await.unwrap();
        let mut begun = [0; 4];
        stream.read_exact(&mut begun).await.unwrap();
        let late = async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            peer.write_all(b"e").await.unwrap();
        };
        let (byte, ()) = tokio::join!(stream.read_u8(), late);
        assert_eq!(byte.unwrap(), b'e');
    }
}
