//! What is wrong with the address of a hook.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldErrors};

use super::field::Field;
use crate::admission::url::Parts;

const FORM: &str = "; desired format: https://host[/path]";

pub(super) fn check(config: &Field<'_>, errors: &mut FieldErrors) {
    let (url, service) = (config.child("url"), config.child("service"));
    match (url.value, service.value) {
        (Some(_), Some(_)) | (None, None) => {
            errors.push(FieldError::required(&config.path, "exactly one of url or service is required"));
        }
        (Some(_), None) => check_url(&url, errors),
        (None, Some(_)) => check_service(&service, errors),
    }
    let bundle = config.child("caBundle");
    if let Some(text) = bundle.text(errors)
        && let Err(error) = STANDARD.decode(text)
    {
        errors.push(FieldError::invalid(&bundle.path, text, format!("must be base64: {error}")));
    }
}

fn check_url(url: &Field<'_>, errors: &mut FieldErrors) {
    let Some(text) = url.text(errors) else { return };
    let parts = match Parts::of(text) {
        Ok(parts) => parts,
        Err(why) => {
            errors.push(FieldError::required(&url.path, format!("url must be a valid URL: {why}{FORM}")));
            return;
        }
    };
    let mut refuse = |part: &str, detail: &str| errors.push(FieldError::invalid(&url.path, part, detail));
    if parts.scheme != "https" {
        refuse(&parts.scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if parts.host.is_empty() {
        refuse("", &format!("host must be specified{FORM}"));
    }
    if let Some(user) = parts.user {
        refuse(user, "user information is not permitted in the URL");
    }
    if !parts.fragment.is_empty() {
        refuse(parts.fragment, "fragments are not permitted in the URL");
    }
    if !parts.query.is_empty() {
        refuse(parts.query, "query parameters are not permitted in the URL");
    }
}

fn check_service(service: &Field<'_>, errors: &mut FieldErrors) {
    // Kubernetes mixes these two up and names the other field. We name the one that is missing.
    service.child("name").required_text(errors);
    service.child("namespace").required_text(errors);
    let port = service.child("port");
    if let Some(number) = port.integer(errors).filter(|number| !(1..=65535).contains(number)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&port.path, number, detail));
    }
    check_path(&service.child("path"), errors);
}

fn check_path(path: &Field<'_>, errors: &mut FieldErrors) {
    let Some(text) = path.text(errors).filter(|text| !text.is_empty() && *text != "/") else { return };
    let mut refuse = |detail: String| errors.push(FieldError::invalid(&path.path, text, detail));
    if text == "//" {
        return refuse("segment[0] may not be empty".into());
    }
    if !text.starts_with('/') {
        refuse("must start with a '/'".into());
    }
    let inner = text.strip_prefix('/').unwrap_or(text);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    for (index, segment) in inner.split('/').enumerate() {
        if segment.is_empty() {
            refuse(format!("segment[{index}] may not be empty"));
            continue;
        }
        for message in names::dns1123_subdomain(segment) {
            refuse(format!("segment[{index}]: {message}"));
        }
    }
}
