//! Watches over one run of a module from its first task to the end of its last.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::{
    module::Run,
    scope::{End, Scope, Teardown},
};

/// What a keeper tells the supervisor.
pub(crate) enum Note {
    /// The module ended by itself; what is left of it is being torn down.
    Ended { id: usize, end: End },
    /// No task of the run is left, or those that are cannot be ended. After `Stuck` a second note follows if
    /// the tasks go away after all.
    Gone { id: usize, teardown: Teardown },
}

/// Starts the run's main task, waits for an end from within or a cancellation from
/// above, and tears the tree down.
///
/// Dropping the future of this function takes the tree with it.
pub(crate) async fn keep(
    id: usize,
    scope: Scope,
    main: Run,
    stop_deadline: Duration,
    // Unbounded, but a run sends three notes at most.
    notes: UnboundedSender<Note>,
) {
    let _guard = scope.abort_on_drop();
    scope.spawn_main(main);
    tokio::select! {
        // An end that is there already is news, even if the cancellation is as well.
        biased;
        end = scope.ended() => tell(&notes, Note::Ended { id, end }),
        () = scope.cancel().cancelled() => {}
    }
    let teardown = scope.tear_down(stop_deadline).await;
    let stuck = matches!(teardown, Teardown::Stuck { .. });
    tell(&notes, Note::Gone { id, teardown });
    if stuck {
        scope.emptied().await;
        tell(&notes, Note::Gone { id, teardown: Teardown::Clean });
    }
}

fn tell(notes: &UnboundedSender<Note>, note: Note) {
    // Nobody listens any more if the supervisor was dropped; the guard then cleans up.
    let _ = notes.send(note);
}
