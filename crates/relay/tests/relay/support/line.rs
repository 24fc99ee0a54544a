//! A line to a server, which can go dead, be cut, be closed to new connections, and come back: all under one address.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) struct Line {
    pub(crate) address: SocketAddr,
    to: SocketAddr,
    /// How many bytes may still come from the server; nothing goes either way at zero.
    flow: watch::Sender<u64>,
    /// Connections before this one are dead.
    forgotten: watch::Sender<u64>,
    connections: Arc<Mutex<JoinSet<()>>>,
    accepting: JoinSet<()>,
}

impl Line {
    pub(crate) async fn to(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let flow = watch::Sender::new(u64::MAX);
        let forgotten = watch::Sender::new(0);
        let mut line =
            Self { address, to, flow, forgotten, connections: Arc::default(), accepting: JoinSet::new() };
        line.accept(listener);
        line
    }

    pub(crate) fn uri(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Nothing passes any more, in either direction. Connections stay, and new ones are accepted.
    pub(crate) fn go_dead(&self) {
        self.flow.send_replace(0);
    }

    pub(crate) fn come_alive(&self) {
        self.flow.send_replace(u64::MAX);
    }

    /// Lets so many more bytes of the server pass.
    pub(crate) fn trickle(&self, bytes: u64) {
        self.flow.send_modify(|flow| *flow += bytes);
    }

    /// Nothing passes any more over the connections that there are. New ones work.
    pub(crate) fn forget(&self) {
        self.forgotten.send_modify(|forgotten| *forgotten += 1);
    }

    /// Breaks all connections.
    pub(crate) fn cut(&self) {
        *self.connections.lock().unwrap() = JoinSet::new();
    }

    /// Refuses connections, and breaks those that there are.
    pub(crate) async fn close(&mut self) {
        self.accepting.shutdown().await;
        self.cut();
    }

    /// Accepts connections again, under the same address.
    pub(crate) fn open(&mut self) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(self.address).unwrap();
        self.accept(socket.listen(64).unwrap());
    }

    fn accept(&mut self, listener: TcpListener) {
        let (to, flow, connections) = (self.to, self.flow.clone(), Arc::clone(&self.connections));
        let forgotten = self.forgotten.clone();
        self.accepting.spawn(async move {
            loop {
                let Ok((near, _)) = listener.accept().await else { return };
                let flow = flow.clone();
                let mut forgotten = forgotten.subscribe();
                connections.lock().unwrap().spawn(async move {
                    let Ok(far) = TcpStream::connect(to).await else { return };
                    for stream in [&near, &far] {
                        stream.set_nodelay(true).unwrap();
                    }
                    let (near_read, near_write) = near.into_split();
                    let (far_read, far_write) = far.into_split();
                    let ways = async {
                        tokio::select! {
                            () = copy(near_read, far_write, flow.clone(), false) => {}
                            () = copy(far_read, near_write, flow, true) => {}
                        }
                    };
                    tokio::pin!(ways);
                    tokio::select! {
                        () = &mut ways => {}
                        // Held, and not polled: the sockets stay open and silent.
                        _ = forgotten.changed() => std::future::pending().await,
                    }
                });
            }
        });
    }
}

/// Copies as long as the flow allows.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, flow: watch::Sender<u64>, is_counted: bool) {
    let mut buffer = vec![0; 4096];
    let mut allowed = flow.subscribe();
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let Ok(now) = allowed.wait_for(|flow| *flow > 0).await.map(|flow| *flow) else { return };
            let (part, later) = rest.split_at(rest.len().min(usize::try_from(now).unwrap_or(usize::MAX)));
            if is_counted && now != u64::MAX {
                flow.send_modify(|flow| *flow = flow.saturating_sub(part.len() as u64));
            }
            if to.write_all(part).await.is_err() {
                return;
            }
            rest = later;
        }
    }
}
