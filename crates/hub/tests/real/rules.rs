//! Transition rules on a real API server.

use crate::hub::{RunningHub, options};
use crate::lifecycle::stage;
use crate::rules_stories as stories;
use crate::world::{Plane, shared};

macro_rules! told {
    ($($story:ident)*) => {$(
        #[test]
        fn $story() {
            shared(async |world| stories::$story(stage(&world).await).await);
        }
    )*};
}

told! {
    loaded_as_written one_after_another labels_before_and_after a_webhook_that_answers a_webhook_that_takes_its_time
    a_webhook_that_does_not_answer what_cannot_be_read
}

/// With the rights of `deploy/hub`, and no others.
#[test]
fn another_hub_goes_on() {
    let plane = Plane::start();
    plane.runtime.block_on(async {
        let client = crate::static_pods::account(&plane).await;
        let first = RunningHub::leading(options(&client)).await;
        let world = plane.world(first.address).await;
        world.asked().await;
        let mut second = None;
        let another = async || {
            first.kill().await;
            second = Some(RunningHub::leading(options(&client)).await);
        };
        stories::another_hub_goes_on(stage(&world).await, another).await;
    });
}
