//! The dashboard as modules of a supervisor, on a socket.

use std::net::SocketAddr;

use kube::Client;
use safepoint_supervisor::{Config, Supervisor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::world::World;
use crate::{Dashboard, Options, StartError};

fn options(client: &Client, listen: &str) -> Options {
    Options {
        client: client.clone(),
        door: client.clone(),
        listen: listen.parse().unwrap(),
        certificate: None,
        after: Vec::new(),
        token_hint: "Ask the admin.".to_owned(),
    }
}

#[tokio::test]
async fn a_dashboard_answers_on_its_address_and_ends_when_it_is_told_to() {
    let world = World::new().await;
    let dashboard = Dashboard::bind(options(&world.client, "127.0.0.1:0")).unwrap();
    let url = dashboard.url();
    let address: SocketAddr =
        url.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap().parse().unwrap();
    let supervisor = dashboard.register(Supervisor::builder(Config::default())).build().unwrap();
    let (stop, mut running) = (CancellationToken::new(), JoinSet::new());
    let stopped = stop.clone();
    running.spawn(async move { drop(supervisor.run(stopped).await) });

    // The address is taken before anything runs, so whoever comes early waits.
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(b"GET /sign-in HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("Ask the admin."), "{answer}");

    stop.cancel();
    running.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn tokens_are_not_taken_over_a_network_without_tls() {
    let world = World::new().await;
    let refused = Dashboard::bind(options(&world.client, "0.0.0.0:0")).err().unwrap();
    assert!(
        matches!(refused, StartError::Plain { .. }) && refused.to_string().contains("certificate"),
        "{refused}"
    );
}
