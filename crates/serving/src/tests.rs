//! What strangers may do to the others.

use axum::Extension;
use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

/// A server, the address of it, and what stops it.
struct Served {
    at: std::net::SocketAddr,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

async fn server(most: usize) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let friend = async |Extension(caller): Extension<Caller>| {
        caller.is_known();
        "friend"
    };
    let router = Router::new().route("/stranger", get(async || "stranger")).route("/friend", get(friend));
    let mut tasks = JoinSet::new();
    tasks.spawn(serve(listener, None, router, Limits::of(most), stop.clone()));
    Served { at, stop, tasks }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }
}

/// Asks on an open connection. None: it is closed.
async fn ask(stream: &mut TcpStream, path: &str) -> Option<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: here\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    while !answer.contains("\r\n\r\n") || answer.ends_with("\r\n\r\n") {
        let mut more = [0; 4096];
        match stream.read(&mut more).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => answer.push_str(&String::from_utf8_lossy(&more[..read])),
        }
    }
    Some(answer)
}

#[tokio::test]
async fn silent_strangers_keep_nobody_out() {
    let server = server(3).await;
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.push(server.connect().await);
    }
    let mut late = server.connect().await;
    assert!(ask(&mut late, "/stranger").await.unwrap().ends_with("stranger"));
    let mut byte = [0];
    let read = silent[0].read(&mut byte).await;
    assert!(matches!(read, Ok(0) | Err(_)), "the oldest had to go");
}

#[tokio::test]
async fn whoever_is_known_stays_however_many_strangers_come() {
    let server = server(3).await;
    let mut friend = server.connect().await;
    assert!(ask(&mut friend, "/friend").await.is_some());
    let mut strangers = Vec::new();
    for _ in 0..10 {
        let mut stranger = server.connect().await;
        ask(&mut stranger, "/stranger").await.unwrap();
        strangers.push(stranger);
    }
    assert!(ask(&mut strangers[0], "/stranger").await.is_none(), "it had to go for a later one");
    assert!(ask(&mut friend, "/friend").await.unwrap().ends_with("friend"));
}

#[tokio::test]
async fn where_everybody_is_known_one_more_is_turned_away() {
    let server = server(2).await;
    let (mut one, mut two) = (server.connect().await, server.connect().await);
    for friend in [&mut one, &mut two] {
        ask(friend, "/friend").await.unwrap();
    }
    assert_eq!(ask(&mut server.connect().await, "/friend").await, None);
    drop(one);
    // That it has left is seen a moment later.
    let mut asked = None;
    while asked.is_none() {
        asked = ask(&mut server.connect().await, "/friend").await;
    }
    assert!(ask(&mut two, "/friend").await.is_some());
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let server = server(3).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nendless: ").await.unwrap();
    // The server closes in the midst of it; one that takes it all waits for more, for longer than this.
    let _ = stream.write_all(&vec![b'a'; 256 << 10]).await;
    let closed = timeout(Duration::from_secs(60), stream.read_to_end(&mut Vec::new())).await;
    assert!(closed.is_ok(), "it still listens");
}

#[tokio::test]
async fn it_ends_when_it_is_stopped_whoever_is_still_connected() {
    let mut server = server(3).await;
    let mut stream = server.connect().await;
    ask(&mut stream, "/friend").await.unwrap();
    server.stop.cancel();
    server.tasks.join_next().await.unwrap().unwrap();
    assert_eq!(ask(&mut stream, "/friend").await, None);
}
