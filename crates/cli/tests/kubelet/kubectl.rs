//! A kubectl that goes on while other things happen.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Child;

use safepoint_testkit::World;
use serde_json::{Deserializer, Value};

pub(super) struct Kubectl {
    child: Child,
    said: PathBuf,
}

impl Kubectl {
    pub(super) fn start(world: &World, name: &str, arguments: &[&str]) -> Self {
        let said = world.folder().join(format!("{name}.out"));
        let out = File::create(&said).unwrap();
        let mut command = world.kubectl();
        command.args(arguments).stderr(out.try_clone().unwrap()).stdout(out);
        Self { child: command.spawn().unwrap(), said }
    }

    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }

    /// What it has shown so far, if it shows JSON.
    pub(super) fn objects(&self) -> Vec<Value> {
        let said = self.said();
        Deserializer::from_str(&said).into_iter::<Value>().map_while(Result::ok).collect()
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
