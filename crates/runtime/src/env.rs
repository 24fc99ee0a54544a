//! The variables of a container, read anew at each of its starts.

mod field;
mod quantity;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, net::IpAddr, path::Path};

use crate::{
    ConfigKey, Configs,
    expand::expand,
    spec::{Container, EnvSource, KeyRef, Pod},
};

pub(crate) use field::{field, is_field, resource};

/// Names the folder in which the mount paths of the container are found. It is always ours to set.
pub(crate) const ROOT: &str = "SAFEPOINT_ROOT";

/// Where programs are looked for if the manifest does not say, as most images have it.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Who the pod is, for the fields that are not in its manifest or not to be trusted there.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) address: IpAddr,
    pub(crate) pod: &'a Pod,
}

/// The variables, sorted by name, or why they cannot be known (yet).
pub(crate) fn variables(
    who: Who<'_>,
    container: &Container,
    configs: &Configs,
    root: &Path,
) -> Result<BTreeMap<String, String>, String> {
    let mut env = BTreeMap::new();
    let root = root.to_string_lossy().into_owned();
    env.insert(ROOT.to_owned(), root.clone());
    for from in &container.env_from {
        let (key, optional) = match (&from.config_map_ref, &from.secret_ref) {
            (Some(map), _) => (ConfigKey::config_map(&map.name), map.optional),
            (None, Some(secret)) => (ConfigKey::secret(&secret.name), secret.optional),
            (None, None) => continue,
        };
        let Some(config) = configs.0.get(&key) else {
            if optional {
                continue;
            }
            return Err(format!("{key} not found"));
        };
        for (name, value) in &config.data {
            let name = format!("{}{name}", from.prefix);
            // Keys that cannot be variables are left out, as the kubelet does.
            if is_name(&name)
                && name != ROOT
                && let Ok(value) = String::from_utf8(value.clone())
            {
                env.insert(name, value);
            }
        }
    }
    for variable in &container.env {
        let value = match &variable.value_from {
            None => Some(expand(&variable.value, |name| env.get(name).map(String::as_str))),
            Some(source) => from(who, container, configs, source)?,
        };
        if let Some(value) = value
            && variable.name != ROOT
        {
            env.insert(variable.name.clone(), value);
        }
    }
    Ok(env)
}

/// Command and arguments, expanded.
pub(crate) fn argv(container: &Container, env: &BTreeMap<String, String>) -> Vec<String> {
    let lookup = |name: &str| env.get(name).map(String::as_str);
    container.command.iter().chain(&container.args).map(|text| expand(text, lookup)).collect()
}

/// Adds what every container has. Not before expansion: Kubernetes does not expand these.
pub(crate) fn complete(env: BTreeMap<String, String>, who: Who<'_>) -> Vec<(String, String)> {
    let hostname = match who.pod.spec.hostname.as_str() {
        "" => who.name,
        hostname => hostname,
    };
    let mut all = BTreeMap::from([
        ("PATH".to_owned(), PATH.to_owned()),
        ("HOME".to_owned(), "/".to_owned()),
        ("HOSTNAME".to_owned(), hostname.to_owned()),
    ]);
    all.extend(env);
    all.into_iter().collect()
}

/// Whether the system takes it as a variable's name.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn from(
    who: Who<'_>,
    container: &Container,
    configs: &Configs,
    source: &EnvSource,
) -> Result<Option<String>, String> {
    if let Some(of) = &source.field_ref {
        return field(who, &of.field_path).map(Some);
    }
    if let Some(of) = &source.resource_field_ref {
        return resource(who.pod, Some(container), of).map(Some);
    }
    if let Some(of) = &source.config_map_key_ref {
        return key(configs, &ConfigKey::config_map(&of.name), of);
    }
    if let Some(of) = &source.secret_key_ref {
        return key(configs, &ConfigKey::secret(&of.name), of);
    }
    Ok(Some(String::new()))
}

fn key(configs: &Configs, name: &ConfigKey, of: &KeyRef) -> Result<Option<String>, String> {
    let missing = |what: String| if of.optional { Ok(None) } else { Err(what) };
    let Some(config) = configs.0.get(name) else { return missing(format!("{name} not found")) };
    match config.data.get(&of.key) {
        Some(value) => match String::from_utf8(value.clone()) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(format!("key {:?} of {name} is not text, and a variable has to be", of.key)),
        },
        None => missing(format!("couldn't find key {:?} in {name}", of.key)),
    }
}
