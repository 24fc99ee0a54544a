//! The terminal, and the loop between it, the model and those who tell.
//!
//! Whatever ends it (a key, an error, a signal, a panic), the terminal is as it was before.

use std::io::{self, IsTerminal};
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyEventKind};
use futures::FutureExt;
use futures::stream::{BoxStream, StreamExt};
use ratatui::DefaultTerminal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use super::model::{Model, News, Next};
use super::view;
use crate::problem::{Done, Problem};
use crate::show::age;

/// Ages are in seconds.
const TICK: Duration = Duration::from_secs(1);
/// So much news is taken before the screen is drawn again: a fleet that is listed comes in thousands.
const AT_ONCE: usize = 2_000;

/// A terminal that is ours until this is dropped.
struct Screen(DefaultTerminal);

// === impl Screen ===

impl Screen {
    /// A panic gives the terminal back too, before it is told.
    fn open() -> io::Result<Self> {
        ratatui::try_init().map(Self).inspect_err(|_| ratatui::restore())
    }

    fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let size = self.0.size()?;
        model.look(age::now(), (size.width, size.height));
        model.settle();
        self.0.draw(|frame| view::view(frame, model)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A panic has given it back before it was told; twice, and the cursor would be above what it said.
        if !std::thread::panicking() {
            ratatui::restore();
        }
    }
}

/// Whether there is a person at the other end.
pub(crate) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows the model, and what becomes of it, until somebody has seen enough.
pub(crate) async fn run(mut model: Model, mut news: BoxStream<'static, News>) -> Done {
    let failed = |error: io::Error| Problem::failed(format!("cannot use this terminal: {error}"));
    let mut ended = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hung_up = signal(SignalKind::hangup()).map_err(failed)?;
    let mut screen = Screen::open().map_err(failed)?;
    let mut keys = EventStream::new();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        screen.draw(&mut model).map_err(failed)?;
        tokio::select! {
            key = keys.next() => match key {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    if model.press(key) == Next::Quit {
                        return Ok(());
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(failed(error)),
                None => return Ok(()),
            },
            told = news.next() => {
                model.hear(told.expect("those who tell never end"), age::now());
                for _ in 0..AT_ONCE {
                    match news.next().now_or_never() {
                        Some(Some(told)) => model.hear(told, age::now()),
                        Some(None) | None => break,
                    }
                }
            }
            _ = tick.tick() => {}
            _ = ended.recv() => return Ok(()),
            _ = hung_up.recv() => return Ok(()),
        }
    }
}
