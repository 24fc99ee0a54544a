//! Pods as host processes: the machinery behind the process door.
//!
//! It runs the containers of pods as plain processes of this machine. It isolates nothing. It is for trying
//! Safepoint, and for devices without a container engine.
//!
//! A [`Runtime`] is told what shall run ([`Runtime::want`]) and reports what is ([`Runtime::next_report`]). It knows
//! nothing of gates, clusters or journals. Each run of a container has a [`shim`], a small process that holds
//! its output, its exit code and its end, so that whoever uses the runtime can be killed at any moment:
//! no container notices, nothing runs twice, and what happened meanwhile is found in the folder.
//!
//! # What lies in the folder
//!
//! | path | is |
//! |---|---|
//! | `lock` | locked by the one runtime that uses the folder |
//! | `pods/UID/pod.json` | what was wanted last |
//! | `pods/UID/state.json` | what the status has to remember |
//! | `pods/UID/.volumes/NAME/` | the volumes that are not elsewhere on the machine |
//! | `pods/UID/CONTAINER/ATTEMPT/` | one run: what to run, who runs, how it ended, its log and its `root/` |
//! | `logs/NAMESPACE_NAME_CONTAINER.log` | a link to the newest log |

mod attempt;
mod clock;
mod durable;
mod env;
mod expand;
mod http;
mod launch;
mod message;
mod names;
mod pod;
mod probe;
mod process;
mod record;
mod runtime;
mod shim;
mod spec;
mod status;
mod tls;
mod volume;
mod wanted;

pub use runtime::{OpenError, Runtime};
pub use shim::shim;
pub use wanted::{
    Backoff, Config, ConfigKey, ConfigKind, Configs, Found, Health, Logs, Options, Report, Wanted,
};
