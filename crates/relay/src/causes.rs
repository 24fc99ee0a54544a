//! What an error says, with all that lies below it: hyper and rustls say what is wrong only there.

use std::error::Error;
use std::io;

/// The error and its causes, in one line.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in below(error) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    if below(error).any(is_too_early) {
        text.push_str(" (is this machine's clock right?)");
    }
    text
}

/// Whether nobody listens there. The system says so at once, and means it.
pub(crate) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    below(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused)
}

/// Whether the server has said that it did not look at the request: it refused the stream, or went away in peace before
/// (RFC 9113, sections 6.8 and 8.7).
pub(crate) fn is_untouched(error: &(dyn Error + 'static)) -> bool {
    below(error).filter_map(|cause| cause.downcast_ref::<h2::Error>()).any(|cause| {
        let reason = if cause.is_reset() { h2::Reason::REFUSED_STREAM } else { h2::Reason::NO_ERROR };
        cause.is_remote() && cause.reason() == Some(reason)
    })
}

fn is_too_early(error: &(dyn Error + 'static)) -> bool {
    use rustls::CertificateError::{NotValidYet, NotValidYetContext};
    // An io::Error hides its content from `source`, which gives that content's own source.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let error = inner.map_or(error, |inner| inner as _);
    matches!(
        error.downcast_ref::<rustls::Error>(),
        Some(rustls::Error::InvalidCertificate(NotValidYet | NotValidYetContext { .. }))
    )
}

/// The error itself and everything below.
fn below<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
