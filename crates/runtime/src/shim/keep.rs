//! The life of a shim: start, listen, end.
//!
//! One loop, one container. Everything that can happen, output, an end, a wish to stop, a deadline, the
//! end of a hook, is waited for in one place.

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{CWD, FileType, Mode, mknodat},
    process::{Signal, WaitOptions, WaitStatus},
};
use tokio::{
    io::AsyncReadExt,
    net::{
        UnixStream,
        unix::pipe::{self, Receiver},
    },
    signal::unix::{SignalKind, signal},
    time::Instant,
};

use super::{
    ending::{self, LAST_MOMENT, kill_descendants, named},
    hook::Hook,
    log::{Log, Stream},
    stage::{REFUSED, Stage},
};
use crate::{
    clock, durable, message,
    process::boot_id,
    record::{ALIVE, EXIT, Exit, How, LOG, Process, Run, RunFolder, STARTED, STOP, Started, Stop, UP},
};

/// How long those who were killed may take to be gone before the run counts as over all the same.
const STUCK: Duration = Duration::from_secs(10);

struct Keeper<'a> {
    folder: &'a RunFolder,
    run: &'a Run,
    main: Process,
    log: Log,
    streams: [Receiver; 2],
    /// The handle of a container that another shim started; ours are reaped.
    adopted: Option<Arc<OwnedFd>>,
    end: Option<End>,
    stopping: Option<Stopping>,
    hook: Option<Hook>,
    /// Why the postStart hook had it killed.
    hook_failed: Option<String>,
}

enum End {
    Reaped(WaitStatus),
    Unseen,
}

struct Stopping {
    deadline: Instant,
    /// The program was told; before that a preStop hook runs.
    told: bool,
    killed: bool,
}

/// Sees one run through.
pub(super) async fn keep(folder: &RunFolder, run: &Run, started: Option<Started>) -> io::Result<()> {
    // First of all: from here on a wish to stop is heard and does not kill us.
    let mut terminated = signal(SignalKind::terminate())?;
    let mut child_ended = signal(SignalKind::child())?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;

    // Open as long as this process lives, and in no other: who reads it learns of our end.
    let _alive = open_alive(folder)?;
    let streams = [open_stream(folder, "out", run)?, open_stream(folder, "err", run)?];
    let log = Log::open(folder.path(LOG), run.logs)?;
    let mut line = None;
    let (main, adopted) = match started {
        Some(started) => {
            let handle = if started.boot == boot_id() { started.process.open() } else { None };
            announce(folder, started.process, started.at)?;
            (started.process, Some(handle.map(Arc::new)))
        }
        None => {
            let stage = Stage::fork(stream_end(folder, "out")?, stream_end(folder, "err")?)?;
            let main = Process::of(stage.pid()).ok_or_else(|| io::Error::other("the stage is gone"))?;
            announce(folder, main, clock::now())?;
            line = Some(UnixStream::from_std(stage.go()?)?);
            (main, None)
        }
    };
    let mut keeper = Keeper {
        folder,
        run,
        main,
        log,
        streams,
        end: match &adopted {
            Some(None) => Some(End::Unseen),
            _ => None,
        },
        adopted: adopted.flatten(),
        stopping: None,
        hook: None,
        hook_failed: None,
    };
    if line.is_none() {
        keeper.up()?;
    }

    let mut unseen = keeper.adopted.clone().map(|handle| {
        // The one case in which a thread is needed: the system tells nobody but a parent in another way.
        tokio::task::spawn_blocking(move || {
            let mut handles = [PollFd::new(&*handle, PollFlags::IN)];
            while poll(&mut handles, None).is_err() {}
        })
    });
    while keeper.end.is_none() {
        let deadline = keeper.stopping.as_ref().filter(|stopping| !stopping.killed).map(|s| s.deadline);
        tokio::select! {
            ready = keeper.streams[0].readable() => { ready?; keeper.listen(Stream::Stdout, 8)?; }
            ready = keeper.streams[1].readable() => { ready?; keeper.listen(Stream::Stderr, 8)?; }
            _ = child_ended.recv() => keeper.reap(),
            () = gone(&mut unseen) => keeper.end = Some(End::Unseen),
            _ = terminated.recv() => keeper.stop(),
            () = entered(&mut line) => { line = None; keeper.entered()?; }
            result = hooked(&mut keeper.hook) => { keeper.hook = None; keeper.hooked(result)?; }
            () = at(deadline) => keeper.too_late(),
        }
    }
    keeper.clear(&mut child_ended).await;
    keeper.finish()
}

// === impl Keeper ===

impl Keeper<'_> {
    /// Takes some of what is there. Not all: a container that never stops printing is still stopped when asked.
    fn listen(&mut self, stream: Stream, pieces: usize) -> io::Result<()> {
        let mut buffer = [0; 8192];
        for _ in 0..pieces {
            match self.streams[stream as usize].try_read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => self.log.take(stream, &buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_nonzero().get();
            if pid == self.main.pid && self.adopted.is_none() {
                self.end = Some(End::Reaped(status));
            } else if let Some(hook) = &mut self.hook {
                hook.reaped(pid, status);
            }
        }
    }

    /// The program was entered, or refused; then its end is on the way.
    fn entered(&mut self) -> io::Result<()> {
        if self.folder.has(REFUSED) {
            return Ok(());
        }
        match &self.run.post_start {
            Some(handler) if self.stopping.is_none() => {
                self.hook = Some(Hook::start("postStart", handler, self.run));
                Ok(())
            }
            _ => self.up(),
        }
    }

    /// Says that the container is up, in a file and by closing the pipe that the runtime reads.
    fn up(&self) -> io::Result<()> {
        durable::write_lightly(&self.folder.path(UP), b"")?;
        rustix::stdio::dup2_stdout(File::open("/dev/null")?)?;
        Ok(())
    }

    fn hooked(&mut self, result: Result<(), String>) -> io::Result<()> {
        match (&self.stopping, result) {
            // The preStop hook; whether it succeeded changes nothing.
            (Some(_), _) => self.tell(),
            (None, Ok(())) => self.up()?,
            (None, Err(message)) => {
                self.hook_failed = Some(message);
                self.begin(self.run.grace);
            }
        }
        Ok(())
    }

    /// Someone wants it to end. Said twice, it can only become sooner.
    fn stop(&mut self) {
        let stop: Option<Stop> = durable::read_json(&self.folder.path(STOP)).unwrap_or_default();
        let grace = stop.map_or(self.run.grace, |stop| stop.grace);
        self.begin(grace);
    }

    fn begin(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace.min(Duration::from_secs(366 * 24 * 3600));
        if let Some(stopping) = &mut self.stopping {
            stopping.deadline = stopping.deadline.min(deadline);
            return;
        }
        self.stopping = Some(Stopping { deadline, told: false, killed: false });
        // A postStart hook that still runs is not waited for.
        if let Some(pid) = self.hook.take().and_then(|hook| hook.process()) {
            ending::signal(pid, Signal::KILL);
        }
        match &self.run.pre_stop {
            Some(handler) if !grace.is_zero() => {
                self.hook = Some(Hook::start("preStop", handler, self.run));
            }
            _ if grace.is_zero() => self.kill(),
            _ => self.tell(),
        }
    }

    fn tell(&mut self) {
        let signal = self.run.stop_signal.as_deref().and_then(named).unwrap_or(Signal::TERM);
        ending::signal(self.main.pid, signal);
        if let Some(stopping) = &mut self.stopping {
            stopping.told = true;
        }
    }

    fn too_late(&mut self) {
        match &mut self.stopping {
            Some(stopping) if !stopping.told => {
                stopping.deadline = Instant::now() + LAST_MOMENT;
                if let Some(pid) = self.hook.take().and_then(|hook| hook.process()) {
                    ending::signal(pid, Signal::KILL);
                }
                self.tell();
            }
            _ => self.kill(),
        }
    }

    fn kill(&mut self) {
        if let Some(stopping) = &mut self.stopping {
            stopping.told = true;
            stopping.killed = true;
        }
        // Before the leader: once it is gone, its children of another shim cannot be found any more.
        kill_descendants(self.main.pid);
        ending::signal(self.main.pid, Signal::KILL);
        if let Some(handle) = &self.adopted {
            let _ = rustix::process::pidfd_send_signal(handle, Signal::KILL);
        }
    }

    /// The main process is gone; nobody who came from it stays.
    async fn clear(&mut self, child_ended: &mut tokio::signal::unix::Signal) {
        self.hook = None;
        ending::signal(self.main.pid, Signal::KILL);
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let give_up = Instant::now() + STUCK;
        loop {
            kill_descendants(me);
            // Until there is neither a child nor, by that, anyone below one.
            loop {
                match rustix::process::wait(WaitOptions::NOHANG) {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            if Instant::now() >= give_up {
                eprintln!("some processes of the container cannot be killed");
                return;
            }
            let again = Instant::now() + Duration::from_millis(50);
            tokio::select! { _ = child_ended.recv() => {}, () = tokio::time::sleep_until(again) => {} }
        }
    }

    fn finish(mut self) -> io::Result<()> {
        // Nobody is left who could print; a pipe holds at most a mebibyte.
        self.listen(Stream::Stdout, 256)?;
        self.listen(Stream::Stderr, 256)?;
        self.log.finish();
        let refused = std::fs::read_to_string(self.folder.path(REFUSED)).ok();
        let at = clock::now();
        let said = || message::read(&self.folder.root(), self.run.message.as_deref()?);
        let exit = match (self.end, refused, self.hook_failed) {
            (_, Some(message), _) => {
                Exit { code: 128, signal: None, at, how: How::CannotRun, message: Some(message) }
            }
            (Some(End::Reaped(status)), None, failed) => {
                let signal = status.terminating_signal();
                let code = signal.map_or_else(|| status.exit_status().unwrap_or(0), |signal| 128 + signal);
                let how = if failed.is_some() { How::HookFailed } else { How::Ended };
                Exit { code, signal, at, how, message: failed.or_else(said) }
            }
            (Some(End::Unseen) | None, None, _) => Exit::lost(at),
        };
        durable::write_json(&self.folder.path(EXIT), &exit)
    }
}

fn announce(folder: &RunFolder, process: Process, at: jiff::Timestamp) -> io::Result<()> {
    let started = Started { process, shim: Process::me()?, boot: boot_id().to_owned(), at };
    durable::write_json(&folder.path(STARTED), &started)
}

// Named pipes, and open for reading in the container as well: when a shim dies the container does not get
// an error for printing, and the shim that takes the place finds what was printed meanwhile.
fn open_stream(folder: &RunFolder, name: &str, run: &Run) -> io::Result<Receiver> {
    let path = make_pipe(folder, name)?;
    if run.user.is_some() || run.group.is_some() {
        std::os::unix::fs::chown(&path, run.user, run.group)?;
    }
    pipe::OpenOptions::new().read_write(true).open_receiver(path)
}

fn stream_end(folder: &RunFolder, name: &str) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(folder.path(name))
}

fn open_alive(folder: &RunFolder) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(make_pipe(folder, ALIVE)?)
}

fn make_pipe(folder: &RunFolder, name: &str) -> io::Result<PathBuf> {
    let path = folder.path(name);
    match mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(path),
        Err(error) => Err(error.into()),
    }
}

async fn gone(unseen: &mut Option<tokio::task::JoinHandle<()>>) {
    match unseen {
        Some(unseen) => drop(unseen.await),
        None => std::future::pending().await,
    }
}

async fn entered(line: &mut Option<UnixStream>) {
    match line {
        // Nothing is ever said on it; it closes.
        Some(line) => drop(line.read(&mut [0]).await),
        None => std::future::pending().await,
    }
}

async fn hooked(hook: &mut Option<Hook>) -> Result<(), String> {
    match hook {
        Some(hook) => (&mut hook.end).await,
        None => std::future::pending().await,
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
