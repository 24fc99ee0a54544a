//! Keeping the files of a pod's volumes at what its order says.

use tracing::{info, warn};

use super::{AGAIN, PodTask};
use crate::{clock, env::Who, volume};

impl PodTask {
    /// Sets the volumes up if the order changed since, or if something was missing the last time.
    pub(super) async fn set_up_volumes(&mut self) {
        if self.volumes_fresh {
            return;
        }
        let Some(wanted) = self.wanted.clone() else { return };
        let (pod, folder, address) = (self.pod.clone(), self.folder.clone(), self.shared.options.address);
        let shown = self.memory.shown.clone();
        let stamp = clock::now().strftime("%Y_%m_%d_%H_%M_%S.%9f").to_string();
        let set_up = tokio::task::spawn_blocking(move || {
            let who = Who {
                namespace: &wanted.namespace,
                name: &wanted.name,
                uid: &wanted.uid,
                address,
                pod: &pod,
            };
            volume::set_up(who, &wanted.configs, &folder, &shown, &stamp)
        });
        match set_up.await {
            Ok(Ok(set_up)) => {
                if set_up.shown != self.memory.shown {
                    info!(uid = %self.uid, "mounted files are up to date");
                }
                self.memory.shown = set_up.shown;
                if let Some(message) = set_up.outdated {
                    warn!(uid = %self.uid, message, "mounted files stay as they are");
                }
                self.volumes_fresh = set_up.missing.is_none();
                self.volumes = set_up.missing.map_or(Ok(()), Err);
            }
            Ok(Err(error)) => {
                let problem = format!("cannot set up the volumes: {error}");
                warn!(uid = %self.uid, problem);
                // What runs has its files; what is to start needs all of them.
                self.volumes = Err(problem);
            }
            Err(error) => warn!(uid = %self.uid, %error, "setting up volumes was given up"),
        }
        if !self.volumes_fresh {
            self.wake_in(AGAIN);
        }
    }
}
