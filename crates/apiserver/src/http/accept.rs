//! In which form a client wants the answer.

/// What the answer's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object or list itself.
    Plain,
    /// Rows for people, as `kubectl get` asks for.
    Table,
    /// Only the metadata of an object, as `PartialObjectMetadata`.
    Metadata,
    /// Only the metadata of a list's objects.
    MetadataList,
}

/// The form and the encoding of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) form: Form,
    pub(crate) yaml: bool,
    /// `apidiscovery.k8s.io/v2`: all groups in one document.
    pub(crate) aggregated: bool,
    /// For people: in many lines.
    pub(crate) pretty: bool,
}

impl Accept {
    pub(crate) const JSON: Accept =
        Accept { form: Form::Plain, yaml: false, aggregated: false, pretty: false };

    /// The first offer that can be met; `None` if none can. A missing header accepts anything.
    pub(crate) fn parse(header: Option<&str>) -> Option<Accept> {
        let Some(header) = header.filter(|header| !header.trim().is_empty()) else { return Some(Self::JSON) };
        header.split(',').find_map(offer)
    }
}

fn offer(text: &str) -> Option<Accept> {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next()?;
    let yaml = match kind {
        // What kubectl asks for when it wants the schemas in version 2; only that path answers with it.
        "application/json" | "*/*" | "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" => false,
        "application/yaml" => true,
        _ => return None,
    };
    let (mut what, mut group, mut version) = (None, None, None);
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "as" => what = Some(value.trim()),
            "g" => group = Some(value.trim()),
            "v" => version = Some(value.trim()),
            _ => {}
        }
    }
    let form = |form| Some(Accept { form, yaml, ..Accept::JSON });
    match (what, group, version) {
        (None, ..) => form(Form::Plain),
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) => form(Form::Table),
        (Some("PartialObjectMetadata"), Some("meta.k8s.io"), Some("v1")) => form(Form::Metadata),
        (Some("PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => form(Form::MetadataList),
        (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => {
            Some(Accept { yaml, aggregated: true, ..Accept::JSON })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Accept, Form};

    #[test]
    fn the_first_offer_that_can_be_met_is_taken() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(Accept::parse(Some(kubectl)).map(|accept| accept.form), Some(Form::Table));
        let kubelet = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(Accept::parse(Some(kubelet)), Some(Accept::JSON));
        assert_eq!(Accept::parse(None), Some(Accept::JSON));
    }

    #[test]
    fn what_cannot_be_met_is_refused() {
        assert_eq!(Accept::parse(Some("application/vnd.kubernetes.protobuf")), None);
        assert_eq!(Accept::parse(Some("application/json;as=Sheet;v=v1;g=meta.k8s.io")), None);
        assert_eq!(Accept::parse(Some("text/html")), None);
    }
}
