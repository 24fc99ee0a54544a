//! Transition rules on the embedded API.

use crate::hub::{RunningHub, options};
use crate::rules_stories as stories;
use crate::stage::Stage;
use crate::world::{NODE, World};

fn stage(world: &World) -> Stage {
    Stage {
        hub: world.admin.clone(),
        jane: world.act_as("jane"),
        kubelet: world.node(),
        namespace: "default".to_owned(),
        node: NODE.to_owned(),
    }
}

macro_rules! told {
    ($($story:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $story() {
            let (world, _hub) = World::with_hub().await;
            stories::$story(stage(&world)).await;
        }
    )*};
}

told! {
    loaded_as_written one_after_another labels_before_and_after a_webhook_that_answers a_webhook_that_takes_its_time
    a_webhook_that_does_not_answer what_cannot_be_read
}

#[tokio::test(flavor = "multi_thread")]
async fn another_hub_goes_on() {
    let (world, hub) = World::with_hub().await;
    let mut second = None;
    let another = async || {
        hub.kill().await;
        second = Some(RunningHub::leading(options(&world.admin)).await);
    };
    stories::another_hub_goes_on(stage(&world), another).await;
}
