//! Counts what comes from the other side. A probe that is late behind a large answer on a slow line says nothing about the
//! server; this tells the two apart. It counts below TLS, where a piece of a record counts too, and from the moment on at
//! which the handshake is done: a server that shakes hands and falls silent is a silent one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream whose bytes are counted as they come.
pub(super) struct Hearing<S> {
    stream: S,
    /// Of this connection, and of all to the same server.
    heard: Option<[Arc<AtomicU64>; 2]>,
}

impl<S> Hearing<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self { stream, heard: None }
    }

    /// Counts from now on, here.
    pub(super) fn count(&mut self, heard: [Arc<AtomicU64>; 2]) {
        self.heard = Some(heard);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Hearing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let more = buffer.filled().len() - before;
        for heard in self.heard.iter().flatten() {
            heard.fetch_add(more as u64, Ordering::Relaxed);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Hearing<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
