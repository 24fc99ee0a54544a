//! `safepoint agent uninstall`: the kubelet speaks to the cluster itself again, and what install wrote is gone.
//!
//! The agent is what holds. Without it everything that waits reaches the machine at once, so it does not go while something
//! waits, unless somebody says so.

use std::io;

use clap::Args;
use safepoint_api::local::NodeStatus;
use safepoint_api::node_gate::GateState;
use safepoint_sdk::Client;

use super::carry_out::{Unready, take_back, tell};
use super::machine::System;
use super::record::Record;
use super::{Common, Done, Exit, Problem};

/// How many holders and held changes are named.
const NAMED: usize = 5;

#[derive(Args, Debug)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    common: Common,
    /// Keep the data folder: the audit log, holds, and what the machine was shown.
    #[arg(long)]
    keep_data: bool,
    /// Go on although changes are held or the node is frozen, although the agent does not say, and although the node does
    /// not become ready. What is held reaches the machine at once.
    #[arg(long)]
    force: bool,
}

pub(super) async fn uninstall(args: UninstallArgs) -> Done {
    let UninstallArgs { common, keep_data, force } = args;
    let data = common.root()?.at(&common.data);
    let mut record = Record::read(&data).map_err(Problem::failed)?.ok_or_else(|| {
        Problem::new(
            Exit::NotFound,
            format!("the agent is not installed here: there is no record in {}", data.display()),
        )
        .hint("if it was installed with another --data, give that")
    })?;
    let mut out = io::stdout();
    // Before the kubelet was pointed at it, the agent has kept nothing from anybody.
    let against = if record.pointed { against(&record).await } else { None };
    if let Some(why) = &against {
        match force || common.dry_run {
            true => tell(&mut out, &format!("warning: {why}")),
            false => {
                return Err(Problem::new(Exit::Refused, why.clone()).hint(
                    "release or drop it first (`safepoint changes`, `safepoint holds`); or say --force, and all of it reaches \
                     the machine at once",
                ));
            }
        }
    }
    if common.dry_run {
        preview(&record, keep_data, &mut out);
        return Ok(());
    }
    common.check_root("uninstall")?;
    common.ask("The kubelet will be restarted; running containers are not touched. Go on?")?;
    let mut machine = System {
        socket: record.socket.clone(),
        kubeconfig: record.kubeconfig.clone(),
        node: record.node.clone(),
        unit: record.unit.clone(),
        patience: common.patience(),
    };
    let unready = if force { Unready::GoOn } else { Unready::Stop };
    take_back(&mut record, keep_data, unready, &mut machine, &mut out).await.map_err(|left| {
        Problem::failed(format!("not all of it was taken back: {left}"))
            .hint("mend that and run `safepoint agent uninstall` again: it goes on where it stopped")
    })?;
    let kept = if keep_data || !record.made_data() {
        format!("; {} was kept", data.display())
    } else {
        String::new()
    };
    tell(&mut out, &format!("uninstalled: this node's kubelet speaks to the cluster itself{kept}"));
    Ok(())
}

/// What stands against it.
async fn against(record: &Record) -> Option<String> {
    match Client::at(&record.socket).status().await {
        Ok(status) => waiting(&status),
        Err(error) => Some(format!("the agent cannot say whether changes are held: {error}")),
    }
}

/// What would reach the machine at once.
fn waiting(status: &NodeStatus) -> Option<String> {
    let gate = &status.gate;
    let mut reasons = Vec::new();
    if let Some(state) = gate.state.filter(|state| *state != GateState::Open) {
        let reason = gate.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        reasons.push(format!("the node is {state:?}{reason}"));
    }
    let holders: Vec<_> = gate
        .holds
        .iter()
        .filter(|hold| hold.suspended_until.is_none())
        .map(|hold| format!("{} ({})", hold.holder, hold.reason))
        .collect();
    if !holders.is_empty() {
        reasons.push(format!("it is held by {}", named(&holders)));
    }
    let held: Vec<_> =
        gate.held.iter().map(|held| format!("{} {}/{}", held.kind, held.namespace, held.name)).collect();
    if !held.is_empty() {
        reasons.push(format!("{} changes are held: {}", held.len(), named(&held)));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// The first few, and how many more there are.
fn named(all: &[String]) -> String {
    let mut shown = all[..all.len().min(NAMED)].to_vec();
    if all.len() > NAMED {
        shown.push(format!("{} more", all.len() - NAMED));
    }
    shown.join(", ")
}

fn preview(record: &Record, keep_data: bool, out: &mut dyn io::Write) {
    for line in record.to_restore(true, keep_data) {
        tell(out, &line);
    }
    if record.pointed {
        tell(out, &format!("run `systemctl daemon-reload` and `systemctl restart {}`", record.unit));
        tell(out, "wait until the node is ready, with its lease renewed since");
    }
    if record.agent {
        tell(out, "run `systemctl disable --now safepoint-agent.service`");
    }
    for line in record.to_restore(false, keep_data) {
        tell(out, &line);
    }
    if record.made_data() && !keep_data {
        tell(out, "remove the data folder, with the audit log in it");
    }
    tell(out, "nothing was changed: this was a dry run");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn against(gate: &Value) -> Option<String> {
        let mut status = json!({"node": "rover", "uplink": {"connected": true}, "pods": 1});
        status.as_object_mut().unwrap().extend(gate.as_object().unwrap().clone());
        waiting(&serde_json::from_value(status).unwrap())
    }

    fn hold(more: &Value) -> Value {
        let mut hold = json!({"id": "lift", "holder": "crane", "origin": "Local", "reason": "a lift",
            "scope": {"kind": "Node"}, "since": "2026-11-15T00:00:00Z"});
        hold.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hold
    }

    #[test]
    fn an_open_node_that_nobody_holds_may_lose_its_agent() {
        assert_eq!(against(&json!({"state": "Open"})), None);
        let suspended = hold(&json!({"suspendedUntil": "2026-11-16T00:00:00Z"}));
        assert_eq!(against(&json!({"state": "Open", "holds": [suspended]})), None);
    }

    #[test]
    fn whoever_holds_and_whatever_waits_is_named() {
        let change = json!({"kind": "Pod", "namespace": "shop", "name": "web", "change": "Stop", "why": "held",
            "since": "2026-11-15T00:00:00Z"});
        let said = against(&json!({"state": "Frozen", "reason": "in flight", "holds": [hold(&json!({}))],
            "held": vec![change; 7]}));
        assert_eq!(
            said.unwrap(),
            "the node is Frozen (in flight); it is held by crane (a lift); 7 changes are held: Pod shop/web, Pod shop/web, \
             Pod shop/web, Pod shop/web, Pod shop/web, 2 more"
        );
        let said = against(&json!({"state": "Open", "holds": [hold(&json!({}))]})).unwrap();
        assert_eq!(said, "it is held by crane (a lift)", "a promise was made, also while nothing waits");
    }
}
