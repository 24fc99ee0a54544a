//! How nginx is set up in front of pods, and somebody who asks it all the time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The name of the block that lists the pods.
pub(crate) const UPSTREAM: &str = "pods";
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// What came of the requests.
#[derive(Default, Debug)]
pub(crate) struct Answers {
    /// By the pod that answered.
    pub(crate) good: BTreeMap<String, usize>,
    pub(crate) bad: Vec<String>,
}

/// Asks until it is told to stop.
pub(crate) struct Load {
    answers: Arc<Mutex<Answers>>,
    stop: CancellationToken,
    asking: JoinSet<()>,
}

/// A request that fails is not tried elsewhere: what a pod does not answer has to be seen.
pub(crate) fn configuration(address: SocketAddr) -> String {
    format!(
        "daemon off;
worker_processes 2;
worker_shutdown_timeout 20s;
error_log error.log;
pid nginx.pid;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include upstream.conf;
    server {{
        listen {address};
        location / {{
            proxy_pass http://{UPSTREAM};
            proxy_next_upstream off;
            proxy_connect_timeout 5s;
        }}
    }}
}}
"
    )
}

impl Load {
    /// Some at a time, each with a connection of its own and a short rest after it.
    pub(crate) fn on(address: SocketAddr) -> Self {
        let (answers, stop) = (Arc::<Mutex<Answers>>::default(), CancellationToken::new());
        let mut asking = JoinSet::new();
        for _ in 0..4 {
            let (answers, stop) = (Arc::clone(&answers), stop.clone());
            asking.spawn(async move {
                while !stop.is_cancelled() {
                    let answer = timeout(ANSWER, ask(address)).await;
                    let answer = answer.map_err(|_| "no answer".to_owned()).and_then(|answer| answer);
                    {
                        let mut answers = answers.lock().unwrap();
                        match answer {
                            Ok(pod) => *answers.good.entry(pod).or_default() += 1,
                            Err(problem) => answers.bad.push(problem),
                        }
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
        }
        Self { answers, stop, asking }
    }

    /// So many have been answered well so far.
    pub(crate) fn good(&self) -> usize {
        self.answers.lock().unwrap().good.values().sum()
    }

    /// Lets everything be answered that was asked.
    pub(crate) async fn stop(mut self) -> Answers {
        self.stop.cancel();
        while self.asking.join_next().await.is_some() {}
        std::mem::take(&mut *self.answers.lock().unwrap())
    }
}

async fn ask(address: SocketAddr) -> Result<String, String> {
    let asked = async {
        let mut connection = TcpStream::connect(address).await?;
        connection.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    let answer: String = asked.await.map_err(|error: std::io::Error| error.to_string())?;
    let status = answer.lines().next().unwrap_or_default().to_owned();
    match answer.split_once("\r\n\r\n") {
        Some((_, pod)) if status.contains(" 200 ") => Ok(pod.to_owned()),
        _ => Err(status),
    }
}
