//! The manifest door: a static pod's manifest, swapped so that it can be interrupted anywhere.
//!
//! A kubelet runs what lies in its folder. [`Door`] puts another manifest there: written beside the folder, made durable,
//! renamed; what was there before is kept first. Then it looks whether the new pod is well for a stretch of time, and puts the
//! old manifest back if it is not. Whoever is killed in between leaves a manifest that is whole, old or new, and a journal
//! from which the next one goes on or goes back.
//!
//! ```no_run
//! use safepoint_manifest::{Cri, Door, FileName, Folder, Host, PodKey, RuntimeSource, Upgrade, kubelet};
//!
//! # async fn upgrade(text: String) -> Result<u8, Box<dyn std::error::Error>> {
//! let host = Host::below("/host");
//! let folder = Folder::find(&host, None)?;
//! let mut source = RuntimeSource(Cri::find(&host, kubelet::running(&host)?.as_ref())?);
//! let door = Door::new(folder, "/host/var/lib/safepoint").with_node("node-7");
//! let (key, file) = (PodKey::new("kube-system", "nginx")?, FileName::new("nginx")?);
//! let outcome = door.upgrade(&Upgrade { key, file, text, instead_of: None, anyway: false }, &mut source).await;
//! println!("{}", outcome.termination_message());
//! # Ok(outcome.exit_code())
//! # }
//! ```
//!
//! | module | decides |
//! |---|---|
//! | `door` | what can be asked for, and what is refused |
//! | `decide` | what is next, given journal, manifest and time; pure |
//! | `verify` | whether a pod is well; the judge is pure |
//! | `place` | how a manifest gets into the kubelet's folder |
//! | `folder`, [`kubelet`] | where that is |
//! | [`template`] | whether a StaticPod can be a manifest, and how that is written; pure |
//! | `cri`, `pull` | the container runtime: what runs, which images are there |
//! | `outcome` | what is said at the end |

mod clock;
mod cri;
mod decide;
mod door;
mod durable;
mod faults;
mod folder;
mod history;
mod host;
mod journal;
pub mod kubelet;
mod manifest;
mod names;
mod outcome;
mod place;
mod pull;
mod slot;
mod stage;
mod stop;
pub mod template;
mod verify;

pub use cri::{
    Auths, AuthsError, Container, ContainerDetail, ContainerState, Cri, CriError, Image, Sandbox, Version,
};
pub use door::{Door, News, Standing, Upgrade};
pub use folder::{Folder, FolderError, Origin};
pub use history::{Kept, KeptRecord};
pub use host::Host;
pub use journal::{Failure, Operation};
pub use kubelet::{Kubelet, KubeletError};
pub use manifest::{ContainerWanted, Digest, Manifest, ManifestError, PullPolicy, Role};
pub use names::{BadName, FileName, PodKey};
pub use outcome::{Cause, Class, Code, LONGEST_MESSAGE, Outcome, Step};
pub use pull::{PullError, pull_images};
pub use stage::{ImageReady, Staged, StagedRecord};
pub use verify::{
    Blind, Credentials, FirstOf, KubeletSource, Looking, PodSeen, Rules, RuntimeSource, Source, Told, Trust,
    TrustError, Wanted,
};
