//! Static pods of this machine, by its agent.

use std::path::Path;
use std::time::Duration;

use safepoint_api::PodRef;
use safepoint_api::local::{
    PutMode, PutStaticPod, RemoveStaticPod, RollBack, StaticPodHistory, StaticPodList, StaticPodOutcome,
    StaticPodPhase, StaticPodState,
};
use safepoint_sdk::{Client, Error};

use super::manifest;
use super::{HereArgs, InstallArgs, ListArgs, OneArgs, RollbackArgs, UpgradeArgs, there};
use crate::commands::names;
use crate::commands::via::Here;
use crate::problem::{Done, Exit, Problem};
use crate::show::table::{Cell, Table};
use crate::show::{age, style};

/// How often the agent is asked whether it is over.
const EVERY: Duration = Duration::from_millis(500);

pub(super) async fn list(args: &ListArgs) -> Done {
    let list = args.here.client().static_pods().await?;
    if list.items.is_empty() && args.here.output.is_for_people() {
        args.here.tell("There are no static pods on this machine.");
        return Ok(());
    }
    args.here.output.show(&list, |list| list.items.iter().map(name).collect(), table)
}

fn name(state: &StaticPodState) -> String {
    format!("staticpod/{}/{}", state.namespace, state.name)
}

fn table(list: &StaticPodList, wide: bool) -> String {
    let mut heading = vec!["NAMESPACE", "NAME", "STATE", "REVISION", "NEXT", "LAST"];
    if wide {
        heading.extend(["MANIFEST", "WHY"]);
    }
    let mut table = Table::new(heading);
    for state in &list.items {
        let style = match state.phase {
            StaticPodPhase::Settled => style::GOOD,
            StaticPodPhase::Held | StaticPodPhase::Upgrading | StaticPodPhase::Removing => style::WAITS,
        };
        let last = state.last.as_ref();
        let bad = last.is_some_and(|last| last.exit_code != 0);
        table.row([
            state.namespace.as_str().into(),
            state.name.as_str().into(),
            Cell::styled(format!("{:?}", state.phase), style),
            revision(state.current.as_ref().and_then(|it| it.revision.clone())).into(),
            next(state).into(),
            Cell::styled(
                last.map(|last| last.code.clone()).unwrap_or_default(),
                if bad { style::ALARM } else { style::PLAIN },
            ),
            state.file.clone().unwrap_or_default().into(),
            state.why.clone().unwrap_or_default().into(),
        ]);
    }
    table.text()
}

fn revision(revision: Option<String>) -> String {
    revision.unwrap_or_else(|| "none".to_owned())
}

fn next(state: &StaticPodState) -> String {
    let Some(next) = &state.next else { return String::new() };
    let staged = if next.staged { " (staged)" } else { "" };
    format!("{}{staged}", revision(next.revision.clone()))
}

pub(super) async fn status(args: &OneArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let state = args.here.client().static_pod(&pod.namespace, &pod.name).await?;
    args.here.output.show(&state, |state| vec![name(state)], |state, _| page(state))
}

fn page(state: &StaticPodState) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let value = crate::show::words::clean(value);
        text.push_str(&format!("{}{name:<9}{:#} {value}\n", style::HEADING, style::HEADING));
    };
    line("Pod", &format!("{}/{}", state.namespace, state.name));
    line("State", &format!("{:?}", state.phase));
    line("Manifest", state.file.as_deref().unwrap_or("none"));
    if let Some(current) = &state.current {
        line("Revision", &revision(current.revision.clone()));
    }
    if state.next.is_some() {
        line("Next", &next(state));
    }
    for image in state.next.iter().flat_map(|next| &next.images) {
        line("Image", image);
    }
    if let Some(why) = &state.why {
        line("Why", why);
    }
    if let Some(last) = &state.last {
        let cause = last.cause.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default();
        line("Last", &format!("{}{cause}, {} ago: {}", last.code, age::since(&last.at), last.message));
        for step in &last.steps {
            line("", &format!("{}  {}", step.at, step.what));
        }
    }
    text
}

pub(super) async fn history(args: &OneArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let history = args.here.client().static_pod_history(&pod.namespace, &pod.name).await?;
    let names =
        |history: &StaticPodHistory| history.items.iter().map(|it| revision(it.revision.clone())).collect();
    args.here.output.show(&history, names, |history, _| {
        let mut table = Table::new(["NUMBER", "REVISION", "KEPT", "IN PLACE", "DIGEST"]);
        for kept in &history.items {
            table.row([
                kept.number.to_string().into(),
                revision(kept.revision.clone()).into(),
                age::since(&kept.at).into(),
                if kept.in_place { "yes" } else { "" }.into(),
                kept.digest.as_str().into(),
            ]);
        }
        table.text()
    })
}

pub(super) async fn upgrade(args: UpgradeArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let asking = Asking::new(&args.here, &pod).await;
    if let Some(file) = &args.file {
        asking.stage(&read(file, &pod)?, None).await?;
        if args.stage {
            args.here.tell(&format!(
                "{} lies ready; `safepoint static-pod upgrade {}` applies it",
                args.pod, args.pod
            ));
            return Ok(());
        }
    }
    asking.client.upgrade_static_pod(&pod.namespace, &pod.name).await?;
    asking.end(args.no_wait).await
}

pub(super) async fn install(args: InstallArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let (text, file) = match &args.file {
        Some(file) => (read(file, &pod)?, args.manifest.clone()),
        None => {
            let (text, file) = there::manifest(&args.access, &pod).await?;
            (text, args.manifest.clone().or(Some(file)))
        }
    };
    let asking = Asking::new(&args.here, &pod).await;
    if asking.is_there {
        let message = format!("{}/{} has a manifest on this machine", pod.namespace, pod.name);
        return Err(
            Problem::new(Exit::Refused, message).hint("`safepoint static-pod upgrade` gives it another one")
        );
    }
    asking.stage(&text, file).await?;
    if let Err(error) = asking.client.upgrade_static_pod(&pod.namespace, &pod.name).await {
        // Refused, it leaves nothing behind.
        let _ = asking.client.withdraw_static_pod(&pod.namespace, &pod.name).await;
        return Err(error.into());
    }
    asking.end(args.no_wait).await
}

pub(super) async fn uninstall(args: HereArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let asking = Asking::new(&args.here, &pod).await;
    let remove = RemoveStaticPod::default();
    asking.client.remove_static_pod(&pod.namespace, &pod.name, &remove).await?;
    asking.end(false).await
}

pub(super) async fn rollback(args: RollbackArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let asking = Asking::new(&args.here, &pod).await;
    let to = RollBack { revision: args.revision };
    asking.client.roll_back_static_pod(&pod.namespace, &pod.name, &to).await?;
    asking.end(false).await
}

/// A manifest from a file, with a revision.
fn read(file: &Path, pod: &PodRef) -> Result<String, Problem> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Problem::usage(format!("cannot read {}: {error}", file.display())))?;
    manifest::with_revision(&text, pod)
        .map_err(|why| Problem::usage(format!("{} cannot be used: {why}", file.display())))
}

/// Something that was asked of the agent.
struct Asking<'a> {
    here: &'a Here,
    client: Client,
    pod: &'a PodRef,
    is_there: bool,
    /// What became of an earlier try is no word about this one.
    before: Option<StaticPodOutcome>,
}

// === impl Asking ===

impl<'a> Asking<'a> {
    async fn new(here: &'a Here, pod: &'a PodRef) -> Self {
        let client = here.client();
        let state = client.static_pod(&pod.namespace, &pod.name).await.ok();
        let is_there = state.as_ref().is_some_and(|state| state.current.is_some());
        Self { here, client, pod, is_there, before: state.and_then(|state| state.last) }
    }

    async fn stage(&self, text: &str, file: Option<String>) -> Done {
        let put = PutStaticPod { manifest: text.to_owned(), file, mode: PutMode::Stage };
        self.client.put_static_pod(&self.pod.namespace, &self.pod.name, &put).await?;
        Ok(())
    }

    /// Waits until it is over, and says how it ended.
    async fn end(&self, at_once: bool) -> Done {
        if at_once {
            self.here.tell("It has begun.");
            return Ok(());
        }
        loop {
            match self.client.static_pod(&self.pod.namespace, &self.pod.name).await {
                Ok(state)
                    if state.phase == StaticPodPhase::Upgrading
                        || state.phase == StaticPodPhase::Removing => {}
                Ok(state) => match state.last.filter(|last| Some(last) != self.before.as_ref()) {
                    Some(last) => return self.say(&last),
                    None if state.next.is_none() => {
                        self.here.tell("It is as it should be already.");
                        return Ok(());
                    }
                    None => {}
                },
                Err(Error::Refused(refusal)) if refusal.code == 404 => {
                    self.here.tell(&format!("{}/{} is gone.", self.pod.namespace, self.pod.name));
                    return Ok(());
                }
                // It goes on without us, and may be upgrading what the agent itself needs.
                Err(Error::Refused(refusal)) => return Err(Error::Refused(refusal).into()),
                Err(_) => {}
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    fn say(&self, last: &StaticPodOutcome) -> Done {
        match last.exit_code {
            0 => {
                self.here.tell(&last.message);
                Ok(())
            }
            code => {
                let cause = last.cause.as_ref().map(|cause| format!("{cause}: ")).unwrap_or_default();
                let exit = if code == 3 { Exit::Refused } else { Exit::Failed };
                Err(Problem::new(exit, format!("{cause}{}", last.message)))
            }
        }
    }
}
