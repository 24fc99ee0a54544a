//! Made-up writes, watched on both servers through selectors: the same events must come in the same order.
//!
//! Some watches are open from the beginning, others are opened in the middle and told to begin where the first ones did. A
//! last object ends each of them, so that nothing has to wait for silence.

use anyhow::{Context as _, Result};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::ask::{Ask, normalise};
use super::dice::Dice;
use super::servers::{Events, Servers, Side};

/// How many writes there are between the beginning and the end of the watches.
const WRITES: usize = 60;
/// How many shorter runs are tried for one difference.
const TRIES: usize = 80;

const MERGE_PATCH: &str = "application/merge-patch+json";

/// What is watched: a collection, a selector, and an object that is selected.
struct Watched {
    collection: &'static str,
    selector: &'static str,
    end: fn() -> Value,
}

const WATCHED: [Watched; 7] = [
    Watched {
        collection: "configmaps",
        selector: "labelSelector=app=a",
        end: || labelled(&json!({"app": "a"})),
    },
    Watched { collection: "configmaps", selector: "labelSelector=!app", end: || labelled(&json!({})) },
    Watched {
        collection: "configmaps",
        selector: "labelSelector=tier in (x,y),app!=b",
        end: || labelled(&json!({"tier": "x"})),
    },
    Watched { collection: "pods", selector: "fieldSelector=spec.nodeName=n1", end: || pod("n1") },
    Watched { collection: "pods", selector: "fieldSelector=spec.nodeName=", end: || pod("") },
    Watched {
        collection: "pods",
        selector: "fieldSelector=spec.nodeName!=n1,status.phase=Pending",
        end: || pod("n2"),
    },
    Watched {
        collection: "pods",
        selector: "fieldSelector=spec.nodeName=n1&labelSelector=app!=b",
        end: || pod("n1"),
    },
];

/// One event: its type, and the object it is about.
type Seen = Vec<(String, Value)>;

/// Plays this many rounds of writes, each in a namespace of its own.
pub(crate) async fn compare(servers: &Servers, seed: u64, rounds: usize) -> Result<usize> {
    let mut n_events = 0;
    for round in 0..rounds {
        let dice = &mut Dice::of(seed, round);
        let writes: Vec<Ask> = (0..WRITES).map(|_| make_write(dice)).collect();
        match play(servers, &format!("round-{round}"), &writes).await? {
            Ok(n_seen) => n_events += n_seen,
            Err(story) => {
                let (writes, story) = shrink(servers, round, writes, story).await?;
                let list: Vec<String> = writes.iter().map(Ask::to_string).collect();
                anyhow::bail!(
                    "the servers show different events; repeat with SAFEPOINT_SEED={seed}\nround {round}\n{}\n{story}",
                    list.join("\n")
                );
            }
        }
    }
    Ok(n_events)
}

// === writes ===

/// What stands for the namespace of a round.
const PLACE: &str = "the-namespace";

fn labelled(labels: &Value) -> Value {
    json!({"metadata": {"labels": labels}})
}

fn pod(node: &str) -> Value {
    json!({"metadata": {}, "spec": {"nodeName": node, "containers": [{"name": "a", "image": "app:1"}]}})
}

fn make_labels(dice: &mut Dice) -> Value {
    let mut labels = json!({});
    for (key, values) in [("app", ["a", "b"]), ("tier", ["x", "z"])] {
        if dice.percent(60) {
            labels[key] = (*dice.pick(&values)).into();
        }
    }
    labels
}

fn make_write(dice: &mut Dice) -> Ask {
    let is_pod = dice.percent(45);
    let collection = format!("/api/v1/namespaces/{PLACE}/{}", if is_pod { "pods" } else { "configmaps" });
    let name = format!("w-{}", dice.below(4));
    let object = format!("{collection}/{name}");
    let mut labels = make_labels(dice);
    match dice.below(12) {
        0..4 => {
            let node = *dice.pick(&["", "n1", "n2"]);
            let mut made = if is_pod { pod(node) } else { json!({"metadata": {}}) };
            made["metadata"]["labels"] = labels;
            made["metadata"]["name"] = name.into();
            Ask::post(collection, made)
        }
        4 | 5 => {
            for key in ["app", "tier"] {
                if labels.get(key).is_none() && dice.percent(50) {
                    labels[key] = Value::Null;
                }
            }
            Ask::patch(object, MERGE_PATCH, json!({"metadata": {"labels": labels}}))
        }
        6 if is_pod => {
            let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}});
            Ask::post(format!("{object}/binding"), binding)
        }
        6 => Ask::put(object, json!({"metadata": {"name": name, "labels": labels}, "data": {"a": "1"}})),
        7 if is_pod => {
            let phase = *dice.pick(&["Running", "Succeeded", "Pending"]);
            Ask::patch(format!("{object}/status"), MERGE_PATCH, json!({"status": {"phase": phase}}))
        }
        7 => Ask::patch(object, MERGE_PATCH, json!({"data": {"a": dice.pick(&["1", "2"])}})),
        8 => {
            let finalizers = if dice.percent(40) { json!(["example.com/a"]) } else { Value::Null };
            Ask::patch(object, MERGE_PATCH, json!({"metadata": {"finalizers": finalizers}}))
        }
        9 if dice.percent(30) => Ask::delete(format!("{collection}?labelSelector=app%3Da")),
        9 => Ask::delete(format!("{object}?gracePeriodSeconds=5")),
        10 => Ask::delete(object),
        _ => Ask::delete(format!("{object}?gracePeriodSeconds=0")),
    }
}

// === playing ===

/// Makes the writes in a new namespace. Says how many events were seen, or how they differ.
async fn play(servers: &Servers, namespace: &str, writes: &[Ask]) -> Result<Result<usize, String>> {
    let (real, embedded) = tokio::try_join!(
        watch_writes(&servers.real, namespace, writes),
        watch_writes(&servers.embedded, namespace, writes)
    )?;
    for (place, ((ask, real), (_, embedded))) in real.answers.iter().zip(&embedded.answers).enumerate() {
        if real != embedded {
            return Ok(Err(format!("write {place} is answered with {real} and with {embedded}: {ask}")));
        }
    }
    for ((title, real), (_, embedded)) in real.seen.iter().zip(&embedded.seen) {
        if let Some(story) = first_difference(real, embedded) {
            return Ok(Err(format!("{title}\n{story}")));
        }
    }
    Ok(Ok(real.seen.iter().map(|(_, seen)| seen.len()).sum()))
}

/// What one server did.
struct Played {
    answers: Vec<(String, u16)>,
    /// Each watch and what it showed.
    seen: Vec<(String, Seen)>,
}

async fn watch_writes(side: &Side, namespace: &str, writes: &[Ask]) -> Result<Played> {
    let place = |ask: &Ask| Ask { path: ask.path.replace(PLACE, namespace), ..ask.clone() };
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    side.send(&Ask::post("/api/v1/namespaces".to_owned(), body), "").await?;
    let (_, listed) = side.send(&Ask::get(format!("/api/v1/namespaces/{namespace}/pods")), "").await?;
    let begin = listed["metadata"]["resourceVersion"].as_str().context("a list has a revision")?.to_owned();
    let mut watches = Vec::new();
    open_all(side, namespace, &begin, "from the beginning", &mut watches).await?;
    let mut answers = Vec::new();
    for (number, ask) in writes.iter().enumerate() {
        if number == writes.len() / 2 {
            open_all(side, namespace, &begin, "from the middle", &mut watches).await?;
        }
        let (code, _) = side.send(&place(ask), "").await?;
        answers.push((ask.to_string(), code));
    }
    for (number, Watched { collection, end, .. }) in WATCHED.iter().enumerate() {
        let mut object = end();
        object["metadata"]["name"] = end_name(number).into();
        let path = format!("/api/v1/namespaces/{namespace}/{collection}");
        let (code, answer) = side.send(&Ask::post(path, object), "").await?;
        anyhow::ensure!(code == 201, "cannot make the last object: {answer}");
    }
    let mut seen = Vec::new();
    for (title, number, mut events) in watches {
        seen.push((title, read_until(&mut events, &end_name(number)).await?));
    }
    // What is left in the namespace is of no use, and a server with fewer objects is a faster one.
    for collection in ["pods", "configmaps"] {
        side.send(
            &Ask::delete(format!("/api/v1/namespaces/{namespace}/{collection}?gracePeriodSeconds=0")),
            "",
        )
        .await?;
    }
    Ok(Played { answers, seen })
}

fn end_name(number: usize) -> String {
    format!("z-end-{number}")
}

async fn open_all(
    side: &Side,
    namespace: &str,
    begin: &str,
    since: &str,
    watches: &mut Vec<(String, usize, Events)>,
) -> Result<()> {
    for (number, Watched { collection, selector, .. }) in WATCHED.iter().enumerate() {
        let encoded: Vec<String> = selector
            .split('&')
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
            .collect();
        let query = format!("watch=true&resourceVersion={begin}&{}", encoded.join("&"));
        let events = side.watch(&format!("/api/v1/namespaces/{namespace}/{collection}?{query}")).await?;
        watches.push((format!("{collection} {selector} {since}"), number, events));
    }
    Ok(())
}

async fn read_until(events: &mut Events, last: &str) -> Result<Seen> {
    let mut seen = Vec::new();
    loop {
        let mut event = events.next().await?;
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let mut object = event["object"].take();
        normalise(&mut object);
        let is_last = object["metadata"]["name"] == last;
        seen.push((kind, object));
        if is_last {
            return Ok(seen);
        }
    }
}

fn first_difference(real: &Seen, embedded: &Seen) -> Option<String> {
    let place = (0..real.len().max(embedded.len())).find(|place| real.get(*place) != embedded.get(*place))?;
    let shown = |seen: &Seen| {
        let one = |(kind, object): &(String, Value)| format!("{kind} {}", object["metadata"]["name"]);
        let all: Vec<String> = seen.iter().map(one).collect();
        let there = seen.get(place).map(|(kind, object)| format!("{kind} {object}")).unwrap_or_default();
        format!("{}\n    {there}", all.join(", "))
    };
    Some(format!("  event {place}\n  real     {}\n  embedded {}", shown(real), shown(embedded)))
}

/// Fewer writes that still make a difference.
async fn shrink(
    servers: &Servers,
    round: usize,
    writes: Vec<Ask>,
    story: String,
) -> Result<(Vec<Ask>, String)> {
    let (mut smallest, mut story, mut tries) = (writes, story, 0);
    let mut size = smallest.len() / 2;
    while size > 0 && tries < TRIES {
        let mut start = 0;
        while start < smallest.len() && tries < TRIES {
            let mut fewer = smallest.clone();
            fewer.drain(start..(start + size).min(smallest.len()));
            tries += 1;
            match play(servers, &format!("round-{round}-try-{tries}"), &fewer).await? {
                Err(told) => (smallest, story) = (fewer, told),
                Ok(_) => start += size,
            }
        }
        size /= 2;
    }
    Ok((smallest, story))
}
