//! The agent dies at every point around every durable write while it holds, releases, freezes and thaws.
//!
//! After each death: what was acknowledged is so, what was not is so or is not, and no process has changed that should not
//! have. `SAFEPOINT_DIE_AT` counts the points that a build with debug assertions has (see the agent's `faults`).

use serde_json::{Value, json};

use super::world::{Run, World, held};

/// More points than there are: a walk that is longer never came to its end.
const MOST: u32 = 200;

struct Walk {
    world: World,
    uid: String,
    other: String,
    version: u32,
}

impl Walk {
    /// A node with a held pod, of which a change waits, and another pod.
    async fn new() -> Self {
        let world = World::new().await;
        let uid = world.pod("rover", held()).await;
        let other = world.pod("arm", json!({})).await;
        for name in ["rover", "arm"] {
            world.until_ready(name).await;
        }
        Self { world, uid, other, version: 1 }
    }

    async fn push(&mut self) {
        self.version += 1;
        self.world.push("rover", &format!("rover:v{}", self.version)).await;
        self.world.until_held("rover").await;
    }

    fn runs(&self) -> (Run, Run) {
        (self.world.run_of(&self.uid), self.world.run_of(&self.other))
    }

    /// Starts the agent so that it dies at a point, and asks for something. Returns whether it died, and the answer if there
    /// was one.
    async fn ask_and_die(
        &mut self,
        point: u32,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> (bool, Option<u16>) {
        self.world.kill_agent();
        self.world.variables.insert("SAFEPOINT_DIE_AT".into(), point.to_string());
        let started = self.world.try_to_start_agent();
        self.world.variables.clear();
        if !started {
            self.world.start_agent();
            return (true, None);
        }
        let answer = self.world.ask(method, path, body).await.map(|(code, _)| code);
        (false, answer)
    }

    /// Starts the agent again if it has died. Whether it had.
    fn revive(&mut self) -> bool {
        let died = self.world.agent_has_ended();
        if died {
            self.world.wait_for_agent();
            self.world.start_agent();
        }
        died
    }

    /// Asks until there is an answer, and starts the agent again whenever it has died. Whether it had.
    async fn insist(&mut self, method: &str, path: &str) -> (bool, u16, Value) {
        let mut died = false;
        loop {
            died |= self.revive();
            if let Some((code, answer)) = self.world.ask(method, path, None).await {
                return (died, code, answer);
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Waits until it is true, and starts the agent again whenever it has died meanwhile. Whether it ever had.
    async fn until(&mut self, what: &str, is: impl AsyncFn(&World) -> bool) -> bool {
        let mut died = false;
        for _ in 0..4000 {
            died |= self.revive();
            if is(&self.world).await {
                return died;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("never seen: {what}\n{}", self.world.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_was_acknowledged_survives_a_death_at_every_point() {
    let mut walk = Walk::new().await;
    for point in 1..MOST {
        let id = format!("hold-{point}");
        let before = walk.runs();
        let body = json!({"id": id, "reason": "flying", "scope": {"kind": "Node"}});
        let (mut died, answer) = walk.ask_and_die(point, "POST", "/v1/holds", Some(body)).await;
        let (again, _, holds) = walk.insist("GET", "/v1/holds").await;
        died |= again;
        let there = holds["items"].as_array().unwrap().iter().any(|hold| hold["id"] == id.as_str());
        assert!(there || answer.is_none(), "acknowledged and lost at point {point}: {holds}");
        assert_eq!(walk.runs(), before);
        if there {
            died |= walk.insist("DELETE", &format!("/v1/holds/{id}")).await.0;
        }
        if !died {
            println!("{point} points");
            return;
        }
    }
    panic!("no end after {MOST} points");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_that_was_acknowledged_survives_a_death_at_every_point() {
    let mut walk = Walk::new().await;
    for point in 1..MOST {
        let before = walk.runs();
        let body = json!({"id": "mission", "reason": "flying", "deadline": "60s"});
        let (mut died, answer) = walk.ask_and_die(point, "POST", "/v1/freeze", Some(body)).await;
        let (again, _, status) = walk.insist("GET", "/v1/status").await;
        died |= again;
        if answer == Some(201) {
            assert_eq!(status["state"], "Frozen", "acknowledged and lost at point {point}");
        }
        assert_eq!(walk.runs(), before);
        died |= walk.insist("DELETE", "/v1/freeze").await.0;
        died |= walk.until("the node is open", async |world| world.state().await == "Open").await;
        assert_eq!(walk.runs(), before);
        if !died {
            println!("{point} points");
            return;
        }
    }
    panic!("no end after {MOST} points");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thaw_that_was_acknowledged_survives_a_death_at_every_point() {
    let mut walk = Walk::new().await;
    for point in 1..MOST {
        assert_eq!(walk.world.freeze("mission").await.0, 201);
        let before = walk.runs();
        let (mut died, answer) = walk.ask_and_die(point, "DELETE", "/v1/freeze", None).await;
        let (again, _, status) = walk.insist("GET", "/v1/status").await;
        died |= again;
        assert!(answer != Some(200) || status["state"] != "Frozen", "acknowledged and lost at point {point}");
        if status["state"] == "Frozen" {
            died |= walk.insist("DELETE", "/v1/freeze").await.0;
        }
        died |= walk.until("the node is open", async |world| world.state().await == "Open").await;
        assert_eq!(walk.runs(), before);
        if !died {
            println!("{point} points");
            return;
        }
    }
    panic!("no end after {MOST} points");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_was_acknowledged_survives_a_death_at_every_point_and_changes_only_what_it_names() {
    let mut walk = Walk::new().await;
    for point in 1..MOST {
        walk.push().await;
        let (rover, arm) = walk.runs();
        let body = json!({"pod": {"namespace": "default", "name": "rover"}});
        let (mut died, answer) = walk.ask_and_die(point, "POST", "/v1/releases", Some(body)).await;
        let (uid, image) = (walk.uid.clone(), format!("rover:v{}", walk.version));
        let (again, _, status) = walk.insist("GET", "/v1/status").await;
        died |= again;
        let open = status["grants"].as_array().is_some_and(|grants| !grants.is_empty());
        let passed = walk.world.run_of(&uid) != rover || status["heldCount"] == 0;
        assert!(open || passed || answer.is_none(), "acknowledged and lost at point {point}: {status}");
        if !open && !passed {
            assert_eq!(walk.world.run_of(&uid), rover, "not released, not changed");
            while walk.world.release("rover").await.0 == 0 {
                died |= walk.revive();
            }
        }
        died |= walk
            .until("what was released runs", async |world| {
                let pod = world.get(&super::world::pod_path("rover")).await.1;
                let settled = world.local("GET", "/v1/status", None).await.1["grants"]
                    .as_array()
                    .is_none_or(Vec::is_empty);
                let container = &pod["status"]["containerStatuses"][0];
                settled && container["image"] == image.as_str() && container["ready"] == true
            })
            .await;
        let (rover_after, arm_after) = walk.runs();
        // A start that was cut off before its process was there counts as an attempt and is no run.
        let new: Vec<Run> =
            walk.world.runs(&uid).into_iter().filter(|run| run.attempt > rover.attempt).collect();
        assert_eq!(new, [rover_after], "released once, restarted once");
        assert!(arm_after == arm && arm.is_alive());
        if !died {
            println!("{point} points");
            return;
        }
    }
    panic!("no end after {MOST} points");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_freezes_the_node_however_often_the_agent_dies_over_it() {
    let mut walk = Walk::new().await;
    let before = walk.runs();
    for point in 1..MOST {
        walk.world.kill_agent();
        std::fs::write(walk.world.data().join("journal.redb"), vec![7; 4096]).unwrap();
        walk.world.variables.insert("SAFEPOINT_DIE_AT".into(), point.to_string());
        let mut died = !walk.world.try_to_start_agent();
        walk.world.variables.clear();
        if died {
            walk.world.start_agent();
        }
        died |= walk
            .until("the node is frozen and knows what runs", async |world| {
                let status = world.local("GET", "/v1/status", None).await.1;
                assert_ne!(status["state"], "Open", "at point {point}");
                status["state"] == "Frozen" && status["pods"] == 2
            })
            .await;
        assert_eq!(walk.runs(), before);
        if !died {
            println!("{point} points");
            return;
        }
    }
    panic!("no end after {MOST} points");
}
