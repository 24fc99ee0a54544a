//! The stories of the lifecycle, told on whatever API serves them: the cases of the reference, the table of its phases row by row,
//! what the reference is known to do wrong, and the hub away in the middle.

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use safepoint_core::lifecycle::SERVICE_READY;
use serde_json::{Value, json};

use crate::core_lifecycle::{PROTECTION, list, set, wire};
use crate::hub::until;
use crate::stage::{PHASE, Stage, condition, labels_of};

const CONTROL: &str = "kusionstack.io/control";
const MUTATIONS: &str = include_str!("../../../core/tests/lifecycle/cases/mutations.json");
const CHECKS: &str = include_str!("../../../core/tests/lifecycle/cases/checks.json");
const READINESS: &str = include_str!("../../../core/tests/lifecycle/cases/readiness.json");
const DELETIONS: &str = include_str!("../../../core/tests/lifecycle/cases/deletions.json");

fn cases(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

/// A pod as a case has it, which does not take part yet: what follows from its labels is not drawn before it does.
async fn stand_in(stage: &Stage, name: &str, case: &Value, labels: &[String]) {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let mut labels = wire(&labels);
    labels.remove(CONTROL);
    let pod = &case["pod"];
    let spec = match pod.get("gate") {
        Some(_) => json!({"readinessGates": [{"conditionType": SERVICE_READY}]}),
        None => json!({}),
    };
    // One that the API would not take for a finalizer is two, or has a domain.
    let qualified = |name: &str| match name.contains('/') {
        true => name.to_owned(),
        false => format!("example.com/{name}"),
    };
    let names = list(pod, "finalizers").join(",");
    let finalizers: Vec<String> = names.split(',').filter(|name| !name.is_empty()).map(qualified).collect();
    let mut metadata = json!({"finalizers": finalizers});
    if let Some(expected) = pod["expected"].as_object() {
        let expected: serde_json::Map<String, Value> = expected
            .iter()
            .map(|(who, what)| (who.clone(), qualified(what.as_str().unwrap()).into()))
            .collect();
        let declared = json!({"expectedFinalizers": expected}).to_string();
        metadata["annotations"] = json!({"pod.kusionstack.io/available-conditions": declared});
    }
    stage.make(name, labels, spec, metadata).await;
    let mut conditions = vec![("Ready", pod["ready"].as_bool().unwrap_or_default())];
    conditions.extend(pod["gate"]["condition"].as_bool().map(|open| (SERVICE_READY, open)));
    stage.status(name, &conditions).await;
}

/// It takes part from now on, with these labels: what the write becomes, before anybody else has written.
async fn takes_part(stage: &Stage, name: &str, old: &[String], new: &[String]) -> BTreeSet<String> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let (old_wire, new_wire) = (wire(&old), wire(&new));
    let mut labels = serde_json::Map::new();
    for key in old_wire.keys().filter(|key| !new_wire.contains_key(*key)) {
        labels.insert(key.to_string(), Value::Null);
    }
    labels.extend(new_wire.iter().map(|(key, value)| (key.to_string(), json!(&**value))));
    let change = Patch::Merge(json!({"metadata": {"labels": labels}}));
    let pods = stage.pods(&stage.hub);
    match pods.patch(name, &PatchParams::default(), &change).await {
        Ok(pod) => labels_of(&pod),
        Err(error) => panic!("{name}: {error}"),
    }
}

/// 16 cases: what one write becomes.
pub(crate) async fn mutations(stage: Stage) {
    let cases = cases(MUTATIONS);
    assert_eq!(cases.len(), 16);
    for (index, case) in cases.iter().enumerate() {
        let name = format!("mutation-{index}");
        let new = list(case, "new");
        // Where the case does not say what was before, nothing of it begins with the write.
        let old = if case.get("old").is_some() { list(case, "old") } else { new.clone() };
        stand_in(&stage, &name, case, &old).await;
        let then: BTreeSet<String> = list(case, "then").into_iter().collect();
        assert_eq!(takes_part(&stage, &name, &old, &new).await, then, "{}", case["name"]);
    }
}

/// 5 cases and 3 that are deliberately different: when an operation may act.
pub(crate) async fn readiness(stage: Stage) {
    let labels: Vec<String> =
        ["operating/1", "operation-type/1=update", "pre-checked/1", "operation-permission/update"]
            .map(str::to_owned)
            .to_vec();
    for (index, case) in cases(READINESS).iter().enumerate() {
        let name = format!("readiness-{index}");
        stand_in(&stage, &name, case, &labels).await;
        let acts = takes_part(&stage, &name, &labels, &labels).await.contains("operate/1");
        assert_eq!(acts, case["acts"].as_bool().unwrap(), "{}", case["name"]);
    }
}

/// 9 cases: labels that contradict each other. What the mutating webhook would mend is shown to the validating one by `ask`.
pub(crate) async fn checks(stage: Stage, ask: impl AsyncFn(Value) -> Value) {
    let cases = cases(CHECKS);
    assert_eq!(cases.len(), 9);
    for (index, case) in cases.iter().enumerate() {
        let labels = list(case, "labels");
        let short: Vec<&str> = labels.iter().map(String::as_str).collect();
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("check-{index}"), "namespace": stage.namespace, "labels": wire(&short)},
            "spec": {"containers": [{"name": "main", "image": "rover:v1"}]}});
        let refused = case.get("refused").and_then(Value::as_str);
        let text = refused.map(|refused| format!("failed to validate PodOpsLifecycleWebhook, {refused}"));
        let response = ask(pod.clone()).await;
        assert_eq!(response["allowed"], refused.is_none(), "{}", case["name"]);
        assert_eq!(response["status"]["message"].as_str(), text.as_deref(), "{}", case["name"]);
        assert!(refused.is_none() || response["status"]["code"] == 403);
        // Through both: refused with the same text, or mended.
        let pods = stage.pods(&stage.hub);
        match pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await {
            Ok(pod) => assert!(
                !labels_of(&pod)
                    .iter()
                    .any(|label| label.contains("check") && !label.starts_with("pre-check/")),
                "{}",
                case["name"]
            ),
            Err(kube::Error::Api(status)) => {
                assert_eq!(status.code, 403);
                let text = text.unwrap();
                assert!(
                    status.message.ends_with(&format!("denied the request: {text}")),
                    "{}",
                    status.message
                );
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// 6 cases and 5 that are deliberately different: what comes of a deletion.
pub(crate) async fn deletions(stage: Stage) {
    for (index, case) in cases(DELETIONS).iter().enumerate() {
        let name = format!("deletion-{index}");
        let labels = list(case, "labels");
        stand_in(&stage, &name, case, &labels).await;
        let deleting = case["pod"]["deleting"] == true;
        if deleting {
            stage.protect(&name, true).await;
            stage.delete(&name, false).await.unwrap();
        }
        if case["pod"]["controlled"] != false {
            // What nobody wishes is cancelled, so an operation that deletes has its wish here.
            let wished = labels.iter().any(|label| label == "operate/pod-delete").then_some("1");
            stage.label(&stage.hub, &name, &[(CONTROL, Some("true")), ("to-delete", wished)]).await;
        }
        let dry = case.get("dry").is_some();
        let asked = match case.get("evict") {
            Some(_) => stage.evict(&name).await,
            None => stage.delete(&name, dry).await,
        };
        match asked {
            // The controller may have been faster.
            Err(gone) if gone.code == 404 => assert_eq!(case["passes"], true, "{}", case["name"]),
            Ok(()) => assert_eq!(case["passes"], true, "{}", case["name"]),
            Err(refused) => {
                assert_eq!(case["passes"], false, "{}: {refused:?}", case["name"]);
                // One finalizer of the case is two, because the API takes no comma in a name.
                let text = case["text"].as_str().unwrap().replace(",prot", " prot");
                assert!(refused.message.ends_with(&format!("denied the request: {text}")), "{refused:?}");
                assert_eq!(u64::from(refused.code), case.get("code").and_then(Value::as_u64).unwrap_or(403));
                let noted = stage.pods(&stage.hub).get_opt(&name).await.unwrap();
                let noted = noted.is_none_or(|pod| labels_of(&pod).contains("to-delete"));
                assert_eq!(noted, !dry, "{}", case["name"]);
            }
        }
    }
}

/// The phases of one operation, row by row, in eight writes of which the hub makes two.
pub(crate) async fn table(stage: Stage) {
    stage.serving("web").await;
    let idle = stage.until("web", &["service-available"], true).await;
    assert_eq!(idle.labels()[PHASE], "ServiceAvailable");
    let pods = stage.pods(&stage.hub);
    let only = WatchParams::default().fields("metadata.name=web").timeout(290);
    let since = idle.resource_version().unwrap();
    let mut writes = pods.watch(&only, &since).await.unwrap().boxed();

    let begun = stage.begin("web", "1", "update").await;
    let asked = ["operating/1", "operation-type/1=update", "pre-check/1", "service-available"];
    assert_eq!(labels_of(&begun), set(&asked));
    assert_eq!(begun.labels()[PHASE], "PreCheck");

    // Two rows in one write: the rules pass and the gate closes.
    let preparing = [
        "operating/1",
        "operation-type/1=update",
        "operation-permission/update",
        "pre-checked/1",
        "preparing/1",
    ];
    let pod = stage.until("web", &preparing, false).await;
    assert_eq!((condition(&pod, "Ready"), &*pod.labels()[PHASE]), (Some(true), "Preparing"));

    let pod = stage.status("web", &[("Ready", false)]).await;
    assert_eq!(labels_of(&pod), set(&preparing));

    let pod = stage.protect("web", false).await;
    let acting = [
        "operating/1",
        "operation-type/1=update",
        "operation-permission/update",
        "pre-checked/1",
        "operate/1",
    ];
    assert_eq!(labels_of(&pod), set(&acting));
    assert_eq!(pod.labels()[PHASE], "Operating");

    let pod = stage.finish("web", "1").await;
    assert_eq!(labels_of(&pod), set(&["operated/1", "done-operation-type/1=update", "post-check/1"]));
    assert_eq!(pod.labels()[PHASE], "PostCheck");

    // Two rows in one write: the rules pass and the gate opens.
    let completing = ["operated/1", "done-operation-type/1=update", "post-checked/1", "completing/1"];
    let pod = stage.until("web", &completing, true).await;
    assert_eq!((condition(&pod, "Ready"), &*pod.labels()[PHASE]), (Some(false), "Completing"));

    let pod = stage.status("web", &[("Ready", true)]).await;
    assert_eq!(labels_of(&pod), set(&completing));

    // Two rows in one write: the labels are cleared and the pod is in service.
    let last = stage.protect("web", true).await;
    assert_eq!(labels_of(&last), set(&["service-available"]));
    assert_eq!(last.labels()[PHASE], "ServiceAvailable");

    let mut counted = 0;
    while let Some(event) = writes.try_next().await.unwrap() {
        if let WatchEvent::Modified(pod) = event {
            counted += 1;
            if pod.resource_version() == last.resource_version() {
                break;
            }
        }
    }
    assert_eq!(counted, 8);
    until("it is told what became of the gate", async || {
        let told = stage.events("web", "ServiceReady").await;
        let has = |text: &str| told.iter().any(|told| told.starts_with(text));
        (has("append service readiness gate to: True; ")
            && has("update service readiness gate to: False; the pod is in Preparing; 1 (update) is in Preparing")
            && has("update service readiness gate to: True; the pod is in Completing"))
        .then_some(())
    })
    .await;
}

/// Weaknesses 1 and 2.
pub(crate) async fn weakness_1_and_2(stage: Stage) {
    stage.serving("web").await;
    stage.begin("web", "1", "update").await;
    stage.until_may_act("web", "1").await;
    stage.finish("web", "1").await;
    until("one completes", async || stage.labels("web").await.contains("completing/1").then_some(())).await;
    stage.begin("web", "2", "restart").await;
    stage.until_may_act("web", "2").await;
    // The gate has not been opened by the one that completes, and is not.
    for _ in 0..20 {
        stage.act("web").await;
        let pod = stage.get("web").await;
        assert_eq!((condition(&pod, SERVICE_READY), condition(&pod, "Ready")), (Some(false), Some(false)));
        assert!(labels_of(&pod).contains("operate/2") && pod.finalizers().is_empty());
    }
    stage.finish("web", "2").await;
    stage.settle("web").await;
    stage.until("web", &["service-available"], true).await;
}

/// Weakness 3.
pub(crate) async fn weakness_3(stage: Stage) {
    for prepared in [false, true] {
        let name = if prepared { "prepared" } else { "begun" };
        stage.serving(name).await;
        stage.begin(name, "1", "update").await;
        if prepared {
            until("it prepares", async || stage.labels(name).await.contains("preparing/1").then_some(()))
                .await;
        }
        stage.finish(name, "1").await;
        stage.settle(name).await;
        stage.until(name, &["service-available"], true).await;
        assert!(labels_of(&stage.begin(name, "1", "update").await).contains("pre-check/1"));
    }
}

/// Weakness 4.
pub(crate) async fn weakness_4(stage: Stage) {
    stage.serving("web").await;
    stage.begin("web", "1", "update").await;
    stage.until_may_act("web", "1").await;
    stage.finish("web", "1").await;
    until("it completes", async || stage.labels("web").await.contains("completing/1").then_some(())).await;
    let again = stage.begin("web", "1", "update").await;
    assert_eq!(labels_of(&again), set(&["operating/1", "operation-type/1=update", "pre-check/1"]));
    stage.until_may_act("web", "1").await;
    let done = stage.finish("web", "1").await;
    assert_eq!(labels_of(&done), set(&["operated/1", "done-operation-type/1=update", "post-check/1"]));
    stage.settle("web").await;
    stage.until("web", &["service-available"], true).await;
}

/// Weaknesses 6 and 7: finalizers count before there is a condition, registration is waited for, and so is the kubelet.
pub(crate) async fn weakness_6_and_7(stage: Stage) {
    // Ready and declared, and the cooperation controller is still switching on.
    let declared = json!({"expectedFinalizers": {"Elb/shop/web": PROTECTION}}).to_string();
    let annotations = json!({"annotations": {"pod.kusionstack.io/available-conditions": declared}});
    stage.make("new", wire(&[]), json!({}), annotations).await;
    until("the gate opens", async || {
        (condition(&stage.get("new").await, SERVICE_READY) == Some(true)).then_some(())
    })
    .await;
    stage.report("new").await;
    stage.begin("new", "1", "update").await;
    // Another pod goes the whole way meanwhile: this one does not begin to.
    stage.undeclared("bare").await;
    stage.begin("bare", "1", "update").await;
    let preparing = [
        "operating/1",
        "operation-type/1=update",
        "operation-permission/update",
        "pre-checked/1",
        "preparing/1",
    ];
    stage.until("bare", &preparing, false).await;
    // No finalizer is there, the gate is closed, and the kubelet has not said yet that it is not ready.
    let off = stage.protect("bare", false).await;
    assert_eq!(labels_of(&off), set(&preparing), "the pod is still ready");
    stage.status("bare", &[("Ready", false)]).await;
    until("it may act", async || stage.labels("bare").await.contains("operate/1").then_some(())).await;
    assert_eq!(stage.labels("new").await, set(&["operating/1", "operation-type/1=update", "pre-check/1"]));
    stage.protect("new", true).await;
    stage.until("new", &preparing, false).await;
    assert!(!stage.labels("new").await.contains("operate/1"), "its finalizer stands");
    stage.until_may_act("new", "1").await;
}

/// Weakness 8: evictions are put off with the code that drain tries again after, and the dying may go.
pub(crate) async fn weakness_8(stage: Stage) {
    stage.serving("web").await;
    let refused = stage.evict("web").await.unwrap_err();
    assert_eq!(refused.code, 429);
    assert!(refused.message.ends_with(&format!(
        "pod deletion process is underway and being managed by PodOpsLifecycle with finalizers: [{PROTECTION}]"
    )));
    stage.until_gone("web").await;

    // It was deleted while the hub did not look.
    stage.make("dying", Default::default(), json!({}), json!({"finalizers": ["example.com/last"]})).await;
    stage.status("dying", &[("Ready", true)]).await;
    stage.delete("dying", false).await.unwrap();
    stage.label(&stage.jane, "dying", &[(CONTROL, Some("true"))]).await;
    stage.delete("dying", false).await.unwrap();
}

/// Weakness 9: a dry run is answered as it would be, and leaves nothing.
pub(crate) async fn weakness_9(stage: Stage) {
    stage.serving("web").await;
    let before = stage.get("web").await;
    let refused = stage.delete("web", true).await.unwrap_err();
    assert_eq!(refused.code, 403);
    assert!(refused.message.contains("failed to validate GraceDeleteWebhook, "));
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    let begin = json!({"metadata": {"labels": {"operating.podopslifecycle.kusionstack.io/1": "1"}}});
    stage.pods(&stage.jane).patch("web", &dry, &Patch::Merge(begin)).await.unwrap();
    assert_eq!(stage.get("web").await.resource_version(), before.resource_version());
}

/// Weakness 14: one that waits does not keep another from completing. Without rules nothing waits but for its type.
pub(crate) async fn weakness_14(stage: Stage) {
    stage.serving("web").await;
    stage.begin("web", "1", "update").await;
    stage.until_may_act("web", "1").await;
    stage.label(&stage.jane, "web", &[("operating/2", Some("1"))]).await;
    stage.finish("web", "1").await;
    stage.settle("web").await;
    stage.until("web", &["operating/2", "pre-check/2", "service-available"], true).await;
}

/// Weakness 16: a wish that is taken back is taken back, in every phase.
pub(crate) async fn weakness_16(stage: Stage) {
    stage.serving("web").await;
    for deep in [false, true] {
        assert_eq!(stage.delete("web", false).await.unwrap_err().code, 403);
        if deep {
            until("its traffic goes off", async || {
                stage.labels("web").await.contains("preparing/pod-delete").then_some(())
            })
            .await;
        }
        stage.label(&stage.jane, "web", &[("to-delete", None)]).await;
        stage.settle("web").await;
        stage.until("web", &["service-available"], true).await;
    }
}

/// Weakness 19: what only the lifecycle grants, nobody else does.
pub(crate) async fn weakness_19(stage: Stage) {
    stage.serving("web").await;
    let forged = [("operating/1", Some("1")), ("operation-type/1", Some("update")), ("operate/1", Some("1"))];
    let pod = stage.label(&stage.jane, "web", &forged).await;
    assert!(!labels_of(&pod).contains("operate/1"));
    assert!(labels_of(&pod).contains("pre-check/1"));
}

/// What a kubelet writes is stored as it is, with and without a hub, and the controller draws what follows.
pub(crate) async fn a_kubelets_writes_are_its_own(stage: Stage) {
    stage.undeclared("web").await;
    let pod = stage.status("web", &[("Ready", false)]).await;
    assert!(labels_of(&pod).contains("service-available"), "its write is not changed: it would be refused");
    stage.until("web", &[], true).await;
    stage.status("web", &[("Ready", true)]).await;
    stage.until("web", &["service-available"], true).await;
}

/// A cancellation is answered in the same write, in every phase, and service comes back.
pub(crate) async fn cancelled(stage: Stage) {
    stage.serving("web").await;
    for steps in 0..3 {
        stage.begin("web", "1", "update").await;
        match steps {
            0 => {}
            1 => {
                until("it prepares", async || {
                    stage.labels("web").await.contains("preparing/1").then_some(())
                })
                .await;
            }
            _ => stage.until_may_act("web", "1").await,
        }
        let pod = stage.undo("web", "1", "update").await;
        assert!(labels_of(&pod).iter().all(|label| label == "service-available"), "{:?}", labels_of(&pod));
        stage.settle("web").await;
        stage.until("web", &["service-available"], true).await;
    }
}

/// A deletion goes through the lifecycle, and says so.
pub(crate) async fn graceful_deletion(stage: Stage) {
    stage.serving("web").await;
    let refused = stage.delete("web", false).await.unwrap_err();
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.message,
        format!(
            "admission webhook \"validating-pod.apps.kusionstack.io\" denied the request: failed to validate \
             GraceDeleteWebhook, pod deletion process is underway and being managed by PodOpsLifecycle with \
             finalizers: [{PROTECTION}]"
        )
    );
    let noted = stage.get("web").await;
    assert!(labels_of(&noted).contains("to-delete"));
    assert!(noted.annotations().contains_key("gracedelete.kusionstack.io/delete-timestamp"));
    // Nobody is deleted while its traffic is on.
    until("its traffic is to go off", async || {
        let pod = stage.get("web").await;
        assert!(pod.metadata.deletion_timestamp.is_none());
        (condition(&pod, SERVICE_READY) == Some(false)).then_some(())
    })
    .await;
    assert!(stage.get("web").await.metadata.deletion_timestamp.is_none(), "its finalizer stands");
    stage.until_gone("web").await;
    let told = stage.events("web", "PodDeletion").await;
    assert_eq!(told, ["Deleted pod"]);
}

/// A Service that is gone does not keep a pod out of service.
pub(crate) async fn a_service_that_is_gone(stage: Stage) {
    let declared = json!({"expectedFinalizers": {
        format!("Service/{}/nobody", stage.namespace): "prot.podopslifecycle.kusionstack.io/nobody"}, "more": 1});
    let annotations =
        json!({"annotations": {"pod.kusionstack.io/available-conditions": declared.to_string()}});
    stage.make("web", wire(&[]), json!({}), annotations).await;
    stage.settle("web").await;
    let pod = stage.get("web").await;
    let left: Value =
        serde_json::from_str(&pod.annotations()["pod.kusionstack.io/available-conditions"]).unwrap();
    assert_eq!(left, json!({"expectedFinalizers": {}, "more": 1}));
}
