//! Images before they are needed: pulled by the container runtime itself, not by running something in them.

use crate::cri::{Auths, Cri, CriError};
use crate::manifest::{Manifest, PullPolicy};
use crate::outcome::{Code, Outcome};
use crate::stage::ImageReady;

/// An image that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The manifest forbids to pull it, and it is not there.
    #[error("container {container} wants image {image}, which is not on this node and must not be pulled")]
    Missing {
        /// Whose.
        container: String,
        /// Which.
        image: String,
    },
    /// The runtime cannot get it.
    #[error("image {image} of container {container} cannot be pulled")]
    Failed {
        /// Whose.
        container: String,
        /// Which.
        image: String,
        /// What the runtime says.
        #[source]
        source: CriError,
    },
    /// The runtime cannot be asked.
    #[error(transparent)]
    Runtime(#[from] CriError),
}

// === impl PullError ===

impl From<PullError> for Outcome {
    fn from(error: PullError) -> Self {
        let why = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
        Self::new(Code::ImageUnavailable, format!("{error}{why}"))
    }
}

/// Makes sure that all images of a manifest are on the node, and says which ones they are. One that is there is pulled only
/// if the manifest wants it pulled each time.
///
/// # Errors
/// When one cannot be had. Those before it stay.
pub async fn pull_images(
    cri: &Cri,
    manifest: &Manifest,
    auths: &Auths,
    news: &mut (dyn FnMut(String) + Send),
) -> Result<Vec<ImageReady>, PullError> {
    let mut ready: Vec<ImageReady> = Vec::new();
    for it in manifest.containers() {
        if ready.iter().any(|known| known.image == it.image) {
            continue;
        }
        let (container, image) = (it.name.clone(), it.image.clone());
        let there = cri.image(&image).await?;
        let (digest, pulled) = match (there, it.pull) {
            (Some(there), PullPolicy::IfNotPresent | PullPolicy::Never) => (there.digest().to_owned(), false),
            (None, PullPolicy::Never) => return Err(PullError::Missing { container, image }),
            (None | Some(_), _) => {
                news(format!("pulling {image}"));
                let name = cri.pull(&image, auths, news).await;
                let name =
                    name.map_err(|source| PullError::Failed { container, image: image.clone(), source })?;
                let there = cri.image(&image).await?;
                (there.map_or(name, |it| it.digest().to_owned()), true)
            }
        };
        news(format!("{image} is {digest}"));
        ready.push(ImageReady { image, digest, pulled });
    }
    Ok(ready)
}
