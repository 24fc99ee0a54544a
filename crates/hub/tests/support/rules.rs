//! The stories of transition rules, told on whatever API serves them.

use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use safepoint_api::PodTransitionRule;
use safepoint_api::pod_transition_rule::{PodTransitionDetail, PodTransitionRuleStatus};
use serde_json::{Value, json};

use crate::answering::{Says, Webhook};
use crate::core_lifecycle::wire;
use crate::hub::until;
use crate::stage::{Stage, labels_of};

const NAME: &str = "shop";

/// The rules of a namespace.
pub(crate) fn rules(stage: &Stage) -> Api<PodTransitionRule> {
    Api::namespaced(stage.jane.clone(), &stage.namespace)
}

/// Makes the object, about the pods of the app `web`.
pub(crate) async fn rule(stage: &Stage, all: Value) {
    let object = json!({"apiVersion": "apps.kusionstack.io/v1alpha1", "kind": "PodTransitionRule",
        "metadata": {"name": NAME}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "rules": all}});
    rules(stage).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    status(stage, "it is looked at", |_| true).await;
}

pub(crate) async fn remove(stage: &Stage) {
    rules(stage).delete(NAME, &DeleteParams::default()).await.unwrap();
}

/// The status for the present generation, as soon as it is like this.
pub(crate) async fn status(
    stage: &Stage,
    what: &str,
    is: impl Fn(&PodTransitionRuleStatus) -> bool,
) -> PodTransitionRuleStatus {
    until(what, async || {
        let object = rules(stage).get(NAME).await.unwrap();
        let generation = object.metadata.generation;
        object.status.filter(|status| status.observed_generation == generation && is(status))
    })
    .await
}

pub(crate) fn detail<'a>(status: &'a PodTransitionRuleStatus, pod: &str) -> Option<&'a PodTransitionDetail> {
    status.details.iter().find(|detail| detail.name == pod)
}

/// Waits until the rules refuse a pod with a reason that has this in it.
pub(crate) async fn refused(stage: &Stage, pod: &str, part: &str) {
    status(stage, &format!("{pod} is refused with {part:?}"), |status| {
        let reasons = detail(status, pod).into_iter().flat_map(|detail| &detail.reject_info);
        reasons.into_iter().any(|rejected| rejected.reason.contains(part))
    })
    .await;
}

/// A pod of the app `web`, in service.
pub(crate) async fn pod(stage: &Stage, name: &str) {
    let mut labels = wire(&[]);
    labels.insert("app".into(), "web".into());
    stage.make(name, labels, json!({}), json!({})).await;
    stage.settle(name).await;
}

/// The pod waits in its pre-check, in service.
pub(crate) async fn waits(stage: &Stage, pod: &str) {
    let labels = stage.labels(pod).await;
    assert!(labels.contains("pre-check/1") && labels.contains("service-available"), "{labels:?}");
}

/// The annotation by which a pod shows which rule says no.
async fn marked(stage: &Stage, pod: &str) -> Option<Value> {
    let pod = stage.get(pod).await;
    let mark = pod.annotations().get("detail.podtransitionrule.kusionstack.io/shop")?;
    Some(serde_json::from_str(mark).unwrap())
}

async fn change(stage: &Stage, spec: Value) {
    let change = Patch::Merge(json!({"spec": spec}));
    rules(stage).patch(NAME, &PatchParams::default(), &change).await.unwrap();
}

/// Rules in the form of KusionStack's examples are taken, kept as they are, and looked at.
pub(crate) async fn loaded_as_written(stage: Stage) {
    pod(&stage, "web-0").await;
    let object = json!({"apiVersion": "apps.kusionstack.io/v1alpha1", "kind": "PodTransitionRule",
        "metadata": {"name": NAME, "finalizers": ["finalizer.operating.kusionstack.io/protected"]},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "rules": [
            {"name": "half", "availablePolicy": {"maxUnavailableValue": "50%",
                "maxUnavailablePolicy": {"expFunc": {"coeff": "1", "pow": "0.5"}}}},
            {"name": "labels", "stage": "PreCheck", "labelCheck": {"requires": {"matchLabels": {"example.com/ok": "true"}}},
                "filter": {"labelSelector": {"matchExpressions": [{"key": "canary", "operator": "Exists"}]}}},
            {"name": "dead", "conditions": ["WeekDay"], "labelCheck": {"requires": {"matchLabels": {"never": "true"}}}},
            {"name": "off", "disabled": true, "stage": "PostCheck", "webhook": {"failurePolicy": "Fail",
                "clientConfig": {"url": "https://webhook.example.com", "caBundle": "Cg==",
                    "poll": {"url": "https://webhook.example.com/query", "rawQueryKey": "id"}},
                "parameters": [{"key": "ip", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}},
        ]}, "status": {}});
    let written: PodTransitionRule = serde_json::from_value(object.clone()).unwrap();
    rules(&stage).create(&PostParams::default(), &written).await.unwrap();
    let status = status(&stage, "it is read", |status| status.targets == ["web-0"]).await;
    assert_eq!((&*status.conditions[0].type_, &*status.conditions[0].status), ("Readable", "True"));
    let stored = serde_json::to_value(rules(&stage).get(NAME).await.unwrap()).unwrap();
    assert_eq!(stored["spec"], serde_json::to_value(written.spec).unwrap());
    // What has conditions never applies, what is off is off, and what is filtered is about others.
    stage.begin("web-0", "1", "update").await;
    stage.until_may_act("web-0", "1").await;
    // What KusionStack has left on it does not keep it.
    remove(&stage).await;
    until("it is gone", async || rules(&stage).get_opt(NAME).await.unwrap().is_none().then_some(())).await;
}

/// A budget of one of three: one pod after another, and never two at once.
pub(crate) async fn one_after_another(stage: Stage) {
    let names = ["web-0", "web-1", "web-2"];
    rule(&stage, json!([{"name": "one", "availablePolicy": {"maxUnavailableValue": 1}}])).await;
    for name in names {
        pod(&stage, name).await;
    }
    for name in names {
        stage.begin(name, "1", "update").await;
    }
    let mut done: Vec<String> = Vec::new();
    let mut told = false;
    until("all have been operated", async || {
        // One list is one moment.
        let pods = stage.pods(&stage.hub).list(&ListParams::default().labels("app=web")).await.unwrap().items;
        let out: Vec<String> = pods
            .iter()
            .filter(|pod| !labels_of(pod).contains("service-available"))
            .map(ResourceExt::name_any)
            .collect();
        assert!(out.len() <= 1, "{out:?} are out of service at once");
        for pod in &pods {
            let (name, labels) = (pod.name_any(), labels_of(pod));
            if labels.contains("operate/1") && labels.contains("operating/1") {
                assert!(!done.contains(&name));
                done.push(name.clone());
                stage.finish(&name, "1").await;
            }
            stage.act(&name).await;
        }
        for name in names {
            told |= !stage.events(name, "RuleRejected").await.is_empty();
        }
        let in_service = out.is_empty() && pods.iter().all(|pod| !labels_of(pod).contains("operating/1"));
        (done.len() == 3 && in_service).then_some(())
    })
    .await;
    assert!(told, "who waits is told why");
    let status = status(&stage, "nobody asks", |status| status.details.is_empty()).await;
    assert_eq!(status.targets, names);
}

/// A label check before, and one after; and a pod that skips one.
pub(crate) async fn labels_before_and_after(stage: Stage) {
    let check = |name: &str, stage: &str| json!({"name": name, "stage": stage, "labelCheck": {"requires": {"matchLabels": {format!("example.com/{name}"): "yes"}}}});
    rule(&stage, json!([check("before", "PreCheck"), check("after", "PostCheck")])).await;
    pod(&stage, "web-0").await;
    stage.begin("web-0", "1", "update").await;
    refused(&stage, "web-0", "its labels are not example.com/before=yes").await;
    let counts = |status: &PodTransitionRuleStatus| (status.selected_number, status.refused_number);
    status(&stage, "the pod is counted", |status| counts(status) == (Some(1), Some(1))).await;
    waits(&stage, "web-0").await;
    let mark = until("the pod is marked", async || marked(&stage, "web-0").await).await;
    assert_eq!((&mark["stage"], &mark["passed"]), (&json!("PreCheck"), &json!(false)));
    assert_eq!(mark["rejectInfo"][0]["ruleName"], "before");
    stage.label(&stage.jane, "web-0", &[("example.com/before", Some("yes"))]).await;
    stage.until_may_act("web-0", "1").await;
    stage.finish("web-0", "1").await;
    refused(&stage, "web-0", "its labels are not example.com/after=yes").await;
    assert!(stage.labels("web-0").await.contains("post-check/1"));
    stage.label(&stage.jane, "web-0", &[("example.com/after", Some("yes"))]).await;
    stage.settle("web-0").await;
    until("the mark is gone", async || marked(&stage, "web-0").await.is_none().then_some(())).await;
    status(&stage, "nobody is refused any more", |status| counts(status) == (Some(1), Some(0))).await;
    pod(&stage, "web-1").await;
    let skip = json!({"skipRules": ["before"]}).to_string();
    let skip =
        json!({"metadata": {"annotations": {"podtransitionrule.kusionstack.io/skip-rule-conditions": skip}}});
    stage.pods(&stage.jane).patch("web-1", &PatchParams::default(), &Patch::Merge(skip)).await.unwrap();
    stage.begin("web-1", "1", "update").await;
    stage.until_may_act("web-1", "1").await;
}

/// A webhook says no, and later yes. It is asked in the words that KusionStack's webhooks know.
pub(crate) async fn a_webhook_that_answers(stage: Stage) {
    let webhook =
        Webhook::start(Says::This(json!({"success": false, "message": "the market is open"}))).await;
    rule(&stage, json!([webhook.rule("PreCheck", 60)])).await;
    pod(&stage, "web-0").await;
    stage.begin("web-0", "1", "update").await;
    refused(&stage, "web-0", "the market is open").await;
    waits(&stage, "web-0").await;
    let question = webhook.asked().remove(0);
    assert!(question["traceId"].as_str().is_some_and(|trace| !trace.is_empty()));
    assert_eq!((&question["ruleName"], &question["stage"]), (&json!("ask"), &json!("PreCheck")));
    assert_eq!(
        question["resources"],
        json!([{"apiVersion": "core/v1", "kind": "Pod", "name": "web-0", "parameters": {"site": "north", "app": "web"}}])
    );
    let told = until("it is told", async || stage.events("web-0", "RuleRejected").await.pop()).await;
    assert_eq!(told, "PreCheck of PodTransitionRule shop: ask says no (the market is open)");
    webhook.says(Says::This(json!({"success": true, "message": "go"})));
    stage.until_may_act("web-0", "1").await;
    stage.finish("web-0", "1").await;
    stage.settle("web-0").await;
    // The next operation is asked for by itself.
    let before = webhook.asked().len();
    stage.begin("web-0", "1", "update").await;
    stage.until_may_act("web-0", "1").await;
    assert!(webhook.asked().len() > before);
}

/// A webhook takes on a task, is asked about it, takes too long, is asked again, and is done.
pub(crate) async fn a_webhook_that_takes_its_time(stage: Stage) {
    let webhook = Webhook::start(Says::This(json!({"success": true, "poll": true, "taskId": "slow"}))).await;
    webhook.result(json!({"success": true, "finished": false, "message": "9 of 10"}));
    rule(&stage, json!([webhook.rule("PreCheck", 2)])).await;
    pod(&stage, "web-0").await;
    pod(&stage, "web-1").await;
    stage.begin("web-0", "1", "update").await;
    let shown = status(&stage, "the task is shown", |status| !status.rule_states.is_empty()).await;
    let task = &shown.rule_states[0].webhook_status.as_ref().unwrap().task_states[0];
    assert_eq!((&*task.task_id, &*task.processing), ("slow", &["web-0".to_owned()][..]));
    refused(&stage, "web-0", "9 of 10").await;
    assert_eq!(webhook.polled()[0], "task-id=slow");
    refused(&stage, "web-0", "too long").await;
    webhook.says(Says::This(json!({"success": true, "poll": true, "taskId": "quick"})));
    webhook.result(json!({"success": true, "finished": true}));
    stage.until_may_act("web-0", "1").await;
    assert!(webhook.polled().iter().any(|query| query == "task-id=quick"));
    assert!(webhook.asked().len() >= 2);
    // It gives up: that is a refusal.
    webhook.result(json!({"success": true, "stop": true, "message": "the tests have failed"}));
    stage.begin("web-1", "1", "update").await;
    refused(&stage, "web-1", "the tests have failed").await;
    waits(&stage, "web-1").await;
}

/// What is no answer stands in the way, and goes with its rule.
pub(crate) async fn a_webhook_that_does_not_answer(stage: Stage) {
    let webhook = Webhook::start(Says::Garbage).await;
    rule(&stage, json!([webhook.rule("PreCheck", 60)])).await;
    pod(&stage, "web-0").await;
    stage.begin("web-0", "1", "update").await;
    refused(&stage, "web-0", "its webhook cannot be asked: its answer is no JSON").await;
    let whole = serde_json::to_string(&rules(&stage).get(NAME).await.unwrap()).unwrap();
    assert!(!whole.contains("password"), "what somebody else said is not told");
    waits(&stage, "web-0").await;
    // Nobody there that can be trusted.
    let mut strange = webhook.rule("PreCheck", 60);
    strange["webhook"]["clientConfig"]["caBundle"] = json!("Cg==");
    change(&stage, json!({"rules": [strange]})).await;
    refused(&stage, "web-0", "certificate").await;
    // It hangs: others are not kept waiting, and when the rule is deleted nobody is.
    webhook.says(Says::Nothing);
    change(&stage, json!({"rules": [webhook.rule("PreCheck", 60)]})).await;
    refused(&stage, "web-0", "has not answered yet").await;
    until("it hangs", async || (webhook.asked().len() > 1).then_some(())).await;
    let mut labels = wire(&[]);
    labels.insert("app".into(), "other".into());
    stage.make("other", labels, json!({}), json!({})).await;
    stage.settle("other").await;
    stage.begin("other", "1", "update").await;
    stage.until_may_act("other", "1").await;
    waits(&stage, "web-0").await;
    assert!(marked(&stage, "web-0").await.is_some());
    remove(&stage).await;
    stage.until_may_act("web-0", "1").await;
    until("the mark is gone", async || marked(&stage, "web-0").await.is_none().then_some(())).await;
}

/// A rule that cannot be read stands in the way and says so; mended, it does not. A pod that it is not about any more goes.
pub(crate) async fn what_cannot_be_read(stage: Stage) {
    let odd = json!({"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]});
    rule(&stage, json!([{"name": "odd", "labelCheck": {"requires": odd}}])).await;
    let told = status(&stage, "it says so", |status| status.conditions[0].status == "False").await;
    assert!(told.conditions[0].message.contains("odd: labelCheck: a: nobody knows the operator \"Near\""));
    pod(&stage, "web-0").await;
    pod(&stage, "web-1").await;
    stage.begin("web-0", "1", "update").await;
    stage.begin("web-1", "1", "update").await;
    refused(&stage, "web-0", "it cannot be read").await;
    refused(&stage, "web-1", "it cannot be read").await;
    waits(&stage, "web-0").await;
    let change_of_app = Patch::Merge(json!({"metadata": {"labels": {"app": "mine"}}}));
    stage.pods(&stage.jane).patch("web-1", &PatchParams::default(), &change_of_app).await.unwrap();
    stage.until_may_act("web-1", "1").await;
    waits(&stage, "web-0").await;
    change(
        &stage,
        json!({"rules": [{"name": "odd", "labelCheck": {"requires": {"matchLabels": {"app": "web"}}}}]}),
    )
    .await;
    stage.until_may_act("web-0", "1").await;
    status(&stage, "it is read", |status| status.conditions[0].status == "True").await;
}

/// A hub ends while a webhook is asked about a task, and the next one goes on with the same task.
pub(crate) async fn another_hub_goes_on(stage: Stage, another: impl AsyncFnOnce()) {
    let webhook = Webhook::start(Says::This(json!({"success": true, "poll": true, "taskId": "run-7"}))).await;
    webhook.result(json!({"success": true, "finished": false, "message": "at it"}));
    rule(
        &stage,
        json!([{"name": "one", "availablePolicy": {"maxUnavailableValue": 1}}, webhook.rule("PreCheck", 600)]),
    )
    .await;
    pod(&stage, "web-1").await;
    pod(&stage, "web-0").await;
    stage.begin("web-1", "1", "update").await;
    refused(&stage, "web-1", "at it").await;
    another().await;
    // The first has the budget, also for a hub that has not let it go itself, and a later one does not come before it.
    stage.begin("web-0", "1", "update").await;
    refused(&stage, "web-0", "1 of 2 are out of service already, and 1 may be").await;
    let before = webhook.polled().len();
    until("it is asked about again", async || (webhook.polled().len() > before).then_some(())).await;
    assert_eq!(webhook.asked().len(), 1, "the task is the same");
    waits(&stage, "web-1").await;
    webhook.result(json!({"success": true, "finished": true}));
    stage.until_may_act("web-1", "1").await;
    waits(&stage, "web-0").await;
    stage.finish("web-1", "1").await;
    stage.settle("web-1").await;
    stage.until_may_act("web-0", "1").await;
}
