//! The task where an agent looks after the node: the manifest is handed over, and what became of it is asked.

use std::path::Path;
use std::time::Duration;

use safepoint_api::local::{
    PutMode, PutStaticPod, RemoveStaticPod, StaticPodOutcome, StaticPodPhase, StaticPodState, reason,
};
use safepoint_manifest::{Code, Host, Outcome};
use safepoint_sdk::{Client, Error};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{AGENT_UNIT, End, Task, TaskArgs, TaskMode};

/// How often the agent is asked.
const EVERY: Duration = Duration::from_millis(500);
/// How long an agent that is installed may be silent: it may be starting, or upgrading itself.
const SILENCE: Duration = Duration::from_secs(120);
/// So often in a row neither the manifest nor a word about it may be seen before it counts as superseded.
const MISSED: u32 = 6;

/// Where an agent listens that was not told where, below its data folder.
const IN_DATA: &str = "agent.sock";

/// Whether an agent looks after the static pods of the node.
pub(super) enum Agent {
    Answers(Client),
    /// There is none, or it has nothing to do with static pods.
    Absent,
    /// There is one, and it does not answer: to go past it could change a node that it has frozen.
    Silent(String),
}

/// Looks for the agent of the node: where one that was installed listens, and where one listens that was told nothing.
pub(super) async fn find(host: &Host, args: &TaskArgs, stop: &CancellationToken) -> Agent {
    let sockets = [args.agent_socket.clone(), args.data.join(IN_DATA)];
    let sockets = sockets.map(|socket| host.resolve(&socket).unwrap_or(socket));
    let begun = Instant::now();
    loop {
        let mut silent = None;
        for socket in &sockets {
            let client = Client::at(socket);
            let error = match client.static_pods().await {
                Ok(_) => return Agent::Answers(client),
                Err(error) => error,
            };
            if error.refusal().is_some_and(|refusal| refusal.reason == reason::NO_MANIFESTS) {
                return Agent::Absent;
            }
            if socket.exists() {
                silent = Some(error.to_string());
            }
        }
        let unit = host.resolve(Path::new(AGENT_UNIT)).is_ok_and(|unit| unit.exists());
        if unit {
            silent.get_or_insert_with(|| "its socket is not there".to_owned());
        }
        let Some(error) = silent else { return Agent::Absent };
        if begun.elapsed() >= SILENCE || stop.is_cancelled() {
            return Agent::Silent(format!(
                "the agent of this node does not answer, and may hold: {error}; if there is none any more, remove {}, {} and {}",
                args.agent_socket.display(),
                args.data.join(IN_DATA).display(),
                AGENT_UNIT
            ));
        }
        tracing::info!(%error, "waiting for the agent");
        sleep(EVERY * 4).await;
    }
}

/// Hands the manifest over and waits for the outcome.
pub(super) async fn upgrade(client: &Client, task: Task, args: &TaskArgs, stop: &CancellationToken) -> End {
    let (namespace, name) = (task.pod.namespace().to_owned(), task.pod.name().to_owned());
    // What became of an earlier try is no word about this one.
    let before = client.static_pod(&namespace, &name).await.ok().and_then(|state| state.last);
    let asked = match &task.manifest {
        Some(manifest) => {
            let mode = match task.mode {
                TaskMode::Stage => PutMode::Stage,
                TaskMode::Install => PutMode::Install,
                TaskMode::Upgrade | TaskMode::Remove => PutMode::Upgrade,
            };
            let file = Some(task.file.as_str().to_owned());
            let put = PutStaticPod { manifest: manifest.text().to_owned(), file, mode };
            client.put_static_pod(&namespace, &name, &put).await
        }
        None => client.remove_static_pod(&namespace, &name, &RemoveStaticPod { may_wait: true }).await,
    };
    match asked {
        Err(Error::Refused(refusal)) if task.mode == TaskMode::Remove && refusal.code == 404 => {
            return End::Outcome(Outcome::new(Code::Uninstalled, format!("{} is not here", task.pod)));
        }
        Err(Error::Refused(refusal)) => return End::Outcome(refused(&refusal.reason, &refusal.message)),
        // It may have been heard all the same: then the state says so, and otherwise that it was not.
        Err(error) => tracing::warn!(%error, "the agent did not answer"),
        Ok(_) if task.mode == TaskMode::Stage => {
            return End::Outcome(Outcome::new(
                Code::Unchanged,
                format!("the manifest of {} lies ready", task.pod),
            ));
        }
        Ok(_) => {}
    }
    Waiting { client, namespace, name, task, before, stop, args, held: None }.end().await
}

/// A refusal as the outcome that it is.
fn refused(code: &str, message: &str) -> Outcome {
    let outcome = serde_json::json!({"code": code, "message": message});
    serde_json::from_value(outcome).unwrap_or_else(|_| Outcome::new(Code::Failed, message))
}

/// A manifest that was handed over.
struct Waiting<'a> {
    client: &'a Client,
    namespace: String,
    name: String,
    task: Task,
    before: Option<StaticPodOutcome>,
    stop: &'a CancellationToken,
    args: &'a TaskArgs,
    /// Since when it is held.
    held: Option<Instant>,
}

// === impl Waiting ===

impl Waiting<'_> {
    async fn end(mut self) -> End {
        let (mut missed, mut heard) = (0, Instant::now());
        loop {
            match self.client.static_pod(&self.namespace, &self.name).await {
                Ok(state) => {
                    heard = Instant::now();
                    if let Some(end) = self.judge(&state, &mut missed).await {
                        return end;
                    }
                }
                Err(Error::Refused(refusal)) if refusal.code == 404 => {
                    if self.task.manifest.is_none() {
                        let text = format!("{} is uninstalled", self.task.pod);
                        return End::Outcome(Outcome::new(Code::Uninstalled, text));
                    }
                    missed += 1;
                    if missed > MISSED {
                        return End::Outcome(self.superseded());
                    }
                }
                Err(error) if heard.elapsed() >= SILENCE => {
                    let text =
                        format!("the agent of this node has the manifest and does not answer: {error}");
                    return End::Outcome(Outcome::new(Code::Failed, text));
                }
                Err(error) => tracing::info!(%error, "waiting for the agent"),
            }
            sleep(EVERY).await;
        }
    }

    /// What a state means; none if it is not over.
    async fn judge(&mut self, state: &StaticPodState, missed: &mut u32) -> Option<End> {
        let wanted = self.task.manifest.as_ref().map(|manifest| manifest.digest().as_str());
        let is_wanted = |digest: Option<&str>| digest.is_some() && digest == wanted;
        let said = state.last.as_ref().filter(|last| Some(*last) != self.before.as_ref());
        let said = said.filter(|last| last.tried.as_deref() == wanted);
        let is_next = is_wanted(state.next.as_ref().map(|it| it.digest.as_str()));
        let is_there = is_wanted(state.current.as_ref().map(|it| it.digest.as_str()));
        match state.phase {
            StaticPodPhase::Upgrading | StaticPodPhase::Removing => {
                (self.held, *missed) = (None, 0);
                None
            }
            StaticPodPhase::Held if is_next || (wanted.is_none() && said.is_none()) => {
                self.wait_or_give_way(state).await
            }
            StaticPodPhase::Settled | StaticPodPhase::Held => {
                if let Some(said) = said {
                    return Some(End::Outcome(outcome(said)));
                }
                if is_there {
                    let text = format!("{} is as it should be", self.task.pod);
                    let revision = state.current.as_ref().and_then(|it| it.revision.clone());
                    return Some(End::Outcome(Outcome { revision, ..Outcome::new(Code::Unchanged, text) }));
                }
                *missed += 1;
                (*missed > MISSED).then(|| End::Outcome(self.superseded()))
            }
        }
    }

    /// The node holds it. After a while somebody else may have the turn: the manifest is brought again when it may pass.
    async fn wait_or_give_way(&mut self, state: &StaticPodState) -> Option<End> {
        let why = state.why.clone().unwrap_or_else(|| "the node holds it".to_owned());
        let since = *self.held.get_or_insert_with(|| {
            tracing::info!(%why, "held");
            Instant::now()
        });
        if since.elapsed() < Duration::from(self.args.patience) && !self.stop.is_cancelled() {
            return None;
        }
        match self.client.withdraw_static_pod(&self.namespace, &self.name).await {
            // It has been let through meanwhile.
            Ok(state) if matches!(state.phase, StaticPodPhase::Upgrading | StaticPodPhase::Removing) => None,
            Ok(_) => {
                let frozen = self.client.freeze_state().await.is_ok_and(|state| !state.holds.is_empty());
                Some(End::PutOff(if frozen { "Frozen" } else { "Held" }, why))
            }
            Err(error) => {
                tracing::warn!(%error, "what waits could not be taken back");
                None
            }
        }
    }

    fn superseded(&self) -> Outcome {
        Outcome::new(Code::Superseded, format!("something else is wanted of {} by now", self.task.pod))
    }
}

fn outcome(said: &StaticPodOutcome) -> Outcome {
    let read = serde_json::to_value(said).ok().and_then(|said| serde_json::from_value(said).ok());
    read.unwrap_or_else(|| Outcome::new(Code::Failed, said.message.clone()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        task: TaskArgs,
    }

    /// An agent with no static pods.
    async fn answer(listener: UnixListener) -> Agent {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await.unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 12";
            stream.write_all(format!("{head}\r\n\r\n{{\"items\":[]}}").as_bytes()).await.unwrap();
        }
    }

    /// An agent that was not told where to listen had a gate that no task asked.
    #[tokio::test]
    async fn an_agent_that_listens_in_its_data_folder_is_found_and_not_gone_past() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::below(root.path());
        let line = ["task", "--namespace=default", "--name=nginx", "--manifest=nginx"];
        let args = Line::try_parse_from(line).unwrap().task;
        // Whoever does not answer now is waited for no longer.
        let stop = CancellationToken::new();
        stop.cancel();
        assert!(matches!(find(&host, &args, &stop).await, Agent::Absent));

        let data = root.path().join("var/lib/safepoint");
        std::fs::create_dir_all(&data).unwrap();
        let listener = UnixListener::bind(data.join("agent.sock")).unwrap();
        let found = tokio::select! {
            found = find(&host, &args, &stop) => found,
            never = answer(listener) => never,
        };
        let Agent::Answers(client) = found else { panic!("it was not found") };
        assert_eq!(client.socket(), data.join("agent.sock"));

        // Nobody listens any more, and the socket is left.
        let Agent::Silent(why) = find(&host, &args, &stop).await else { panic!("it was gone past") };
        assert!(why.contains("/var/lib/safepoint/agent.sock"), "{why}");
    }
}
