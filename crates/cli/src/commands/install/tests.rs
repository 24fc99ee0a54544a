//! Plans for machines of both layouts, and what is left of them after they were carried out and taken back.

mod tree;

use std::fs;
use std::io;
use std::path::Path;

use super::carry_out::{Unready, carry_out, take_back};
use super::facts::{Facts, Layout};
use super::machine::Machine;
use super::plan::{Action, Places, Step, Text, Wanted, plan};
use super::record::Record;
use super::{check_not_installed, check_wanted, perform, preview};
use tree::{Tree, contents};

/// A machine whose services are files: what the agent would make is made, and one action may fail, once.
struct Played {
    data: std::path::PathBuf,
    wants: std::path::PathBuf,
    done: Vec<Action>,
    fails_at: Option<usize>,
}

impl Played {
    fn new(wanted: &Wanted) -> Self {
        Self {
            data: Places::new(wanted).data,
            wants: wanted.root.at("/etc/systemd/system/multi-user.target.wants/safepoint-agent.service"),
            done: Vec::new(),
            fails_at: None,
        }
    }
}

impl Machine for Played {
    async fn act(&mut self, action: &Action, _: &mut dyn FnMut(&str)) -> Result<(), String> {
        self.done.push(action.clone());
        match action {
            Action::Enable => std::os::unix::fs::symlink("x", &self.wants).unwrap(),
            Action::Start => fs::write(self.data.join("journal.redb"), "what the agent knows").unwrap(),
            Action::Remove => drop(fs::remove_file(&self.wants)),
            _ => {}
        }
        // It may fail after it has had its effect, which is worse than before.
        match self.fails_at == Some(self.done.len() - 1) {
            true => Err("no".to_owned()),
            false => Ok(()),
        }
    }

    async fn log_of(&mut self, _: &Action) -> Option<String> {
        Some("the last words".to_owned())
    }
}

fn facts(wanted: &Wanted) -> Facts {
    Facts::gather(&wanted.root, Layout::Auto, None).unwrap()
}

/// A plan as a page, without the folder that it happens to be in.
fn page(tree: &Tree) -> String {
    let wanted = tree.wanted();
    let mut out = Vec::new();
    preview::preview(&plan(&facts(&wanted), &wanted), &mut out);
    String::from_utf8(out).unwrap().replace(&*tree.path().to_string_lossy(), "")
}

#[test]
fn the_plan_for_a_node_of_kubeadm() {
    insta::assert_snapshot!(page(&Tree::kubeadm()));
}

#[test]
fn the_plan_for_a_server_of_k3s() {
    insta::assert_snapshot!(page(&Tree::k3s("k3s.service")));
}

#[test]
fn an_agent_of_k3s_is_told_from_a_server_by_its_unit() {
    let tree = Tree::k3s("k3s-agent.service");
    assert_eq!(facts(&tree.wanted()).unit, "k3s-agent.service");
    assert!(page(&tree).contains("/etc/systemd/system/k3s-agent.service.d/zz-safepoint.conf"));
}

#[test]
fn a_kubelet_that_is_run_in_a_way_of_its_own_keeps_its_command_line() {
    let tree = Tree::kubeadm();
    tree.write(
        "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
        "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf --root-dir=/data/kubelet\n",
    );
    let page = page(&tree);
    let line = "ExecStart=/usr/bin/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf --root-dir=/data/kubelet \
                --kubeconfig=/etc/safepoint/kubelet.kubeconfig --bootstrap-kubeconfig=";
    assert!(page.contains(line), "{page}");
    assert!(page.contains("--kubelet-root /data/kubelet"), "{page}");
}

#[test]
fn the_rotating_certificate_is_taken_where_the_kubeconfig_has_a_copy() {
    let tree = Tree::kubeadm();
    let text = fs::read_to_string(tree.at("/etc/kubernetes/kubelet.conf")).unwrap();
    let file = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    let copied = text
        .replace(&format!("client-certificate: {file}"), "client-certificate-data: YQ==")
        .replace(&format!("client-key: {file}"), "client-key-data: c2VjcmV0");
    assert_ne!(text, copied);
    tree.write("/etc/kubernetes/kubelet.conf", &copied);
    let page = page(&tree);
    assert!(
        page.contains(&format!("client-certificate: \"{file}\"")) && !page.contains("c2VjcmV0"),
        "{page}"
    );
}

#[test]
fn what_cannot_be_installed_is_refused_in_words() {
    let message = |tree: &Tree| Facts::gather(&tree.wanted().root, Layout::Auto, None).unwrap_err();
    let empty = Tree::empty();
    assert!(message(&empty).message.starts_with("no kubelet found"), "{:?}", message(&empty));

    let both = Tree::kubeadm();
    both.write("/var/lib/rancher/k3s/agent/kubelet.kubeconfig", "");
    assert!(message(&both).hint.unwrap().contains("--layout k3s"));

    for (from, to, word) in [
        ("client-certificate", "token: x\n      was", "with token"),
        ("client-certificate", "exec: {command: x}\n      was", "with exec"),
        ("https://", "http://", "not an https address"),
        ("current-context: default", "current-context: other", "no context \"other\""),
    ] {
        let tree = Tree::kubeadm();
        let text = fs::read_to_string(tree.at("/etc/kubernetes/kubelet.conf")).unwrap();
        tree.write("/etc/kubernetes/kubelet.conf", &text.replace(from, to));
        assert!(message(&tree).message.contains(word), "{:?}", message(&tree));
    }

    let old = Tree::kubeadm();
    old.script("/usr/bin/kubelet", "echo Kubernetes v1.27.4");
    assert!(message(&old).message.contains("1.27"), "{:?}", message(&old));

    let elsewhere = Tree::k3s("k3s.service");
    elsewhere.write(
        "/etc/systemd/system/k3s.service",
        "[Service]\nExecStart=/usr/local/bin/k3s server --config /opt/k3s.yaml\n",
    );
    assert!(message(&elsewhere).message.contains("/opt/k3s.yaml"), "{:?}", message(&elsewhere));
}

#[test]
fn a_port_that_is_taken_is_found_before_anything_is_changed() {
    let tree = Tree::kubeadm();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let wanted = Wanted { listen: taken.local_addr().unwrap(), ..tree.wanted() };
    let problem = check_wanted(&wanted, &facts(&wanted)).unwrap_err();
    assert!(problem.message.contains("cannot listen") && problem.hint.unwrap().contains("--door-listen"));
    let wanted = Wanted { listen: "192.0.2.1:10443".parse().unwrap(), ..tree.wanted() };
    assert!(check_wanted(&wanted, &facts(&wanted)).unwrap_err().message.contains("loopback"));
}

#[test]
fn a_kubelet_that_is_behind_a_door_already_is_not_put_behind_itself() {
    let tree = Tree::kubeadm();
    let text = fs::read_to_string(tree.at("/etc/kubernetes/kubelet.conf")).unwrap();
    tree.write("/etc/kubernetes/kubelet.conf", &text.replace("192.0.2.1:6443", "127.0.0.1:10443"));
    let wanted = tree.wanted();
    let problem = check_wanted(&wanted, &facts(&wanted)).unwrap_err();
    assert!(problem.message.contains("pointed at an agent already"), "{problem:?}");
}

#[tokio::test]
async fn what_was_there_is_there_again_byte_for_byte_after_an_uninstallation() {
    for tree in
        [Tree::kubeadm(), Tree::k3s("k3s.service"), Tree::k3s("k3s-agent.service"), Tree::with_leftovers()]
    {
        let wanted = tree.wanted();
        let before = contents(tree.path());
        let facts = facts(&wanted);
        let mut machine = Played::new(&wanted);
        perform(&plan(&facts, &wanted), &facts, &wanted, &mut machine, &mut io::sink()).await.unwrap();
        assert_ne!(contents(tree.path()), before);
        let data = Places::new(&wanted).data;
        let again = check_not_installed(&data).unwrap_err();
        assert!(again.message.contains("already"), "{again:?}");
        let mut record = Record::read(&data).unwrap().unwrap();
        assert!(record.complete && record.pointed);
        machine.done.clear();
        take_back(&mut record, false, Unready::Stop, &mut machine, &mut io::sink()).await.unwrap();
        assert_eq!(contents(tree.path()), before);
        let position = |wanted: &Action| machine.done.iter().position(|action| action == wanted).unwrap();
        let restart = Action::Restart { unit: facts.unit.clone() };
        assert!(position(&restart) < position(&Action::AwaitNode), "{:?}", machine.done);
        assert!(position(&Action::AwaitNode) < position(&Action::Remove), "{:?}", machine.done);
    }
}

#[tokio::test]
async fn data_is_kept_if_somebody_says_so() {
    let tree = Tree::kubeadm();
    let wanted = tree.wanted();
    let (facts, data) = (facts(&wanted), Places::new(&wanted).data);
    let mut machine = Played::new(&wanted);
    perform(&plan(&facts, &wanted), &facts, &wanted, &mut machine, &mut io::sink()).await.unwrap();
    let mut record = Record::read(&data).unwrap().unwrap();
    take_back(&mut record, true, Unready::Stop, &mut machine, &mut io::sink()).await.unwrap();
    assert!(data.join("journal.redb").exists() && !data.join("install").exists());
    check_not_installed(&data).unwrap();
}

#[tokio::test]
async fn what_an_earlier_agent_knew_is_set_aside_and_kept_beside_what_is_known_now() {
    let tree = Tree::with_leftovers();
    let wanted = tree.wanted();
    let (facts, data) = (facts(&wanted), Places::new(&wanted).data);
    let mut machine = Played::new(&wanted);
    perform(&plan(&facts, &wanted), &facts, &wanted, &mut machine, &mut io::sink()).await.unwrap();
    let read = |name: &str| fs::read_to_string(data.join(name)).unwrap();
    assert_eq!(read("journal.redb"), "what the agent knows");
    assert_eq!(read("journal.redb.1"), "what an earlier agent knew");
    let mut record = Record::read(&data).unwrap().unwrap();
    take_back(&mut record, true, Unready::Stop, &mut machine, &mut io::sink()).await.unwrap();
    assert_eq!(read("journal.redb"), "what the agent knows");
    assert_eq!(read("journal.redb.1"), "what an earlier agent knew");
}

/// What a step is replaced with to make it fail.
fn impossible(root: &Path) -> Step {
    let path = root.join("etc/hostname/no/folder");
    Step::Write(Text { path, text: String::new(), mode: 0o600, what: "nothing", points: false })
}

#[tokio::test]
async fn whichever_step_fails_everything_is_as_it_was() {
    for make in [Tree::kubeadm, Tree::with_leftovers, || Tree::k3s("k3s.service")] {
        let count = plan(&facts(&make().wanted()), &make().wanted()).len();
        for index in 0..count {
            let tree = make();
            let wanted = tree.wanted();
            let before = contents(tree.path());
            let facts = facts(&wanted);
            let mut steps = plan(&facts, &wanted);
            let mut machine = Played::new(&wanted);
            match &steps[index] {
                Step::Do(_) => {
                    let earlier = steps[..index].iter().filter(|step| matches!(step, Step::Do(_)));
                    machine.fails_at = Some(earlier.count());
                }
                _ => steps[index] = impossible(tree.path()),
            }
            let was_pointed =
                steps[..=index].iter().any(|step| matches!(step, Step::Do(Action::Restart { .. })));
            let failed = perform(&steps, &facts, &wanted, &mut machine, &mut io::sink()).await.unwrap_err();
            assert!(failed.message.contains("everything is as it was"), "step {index}: {failed:?}");
            assert_eq!(contents(tree.path()), before, "step {index}");
            let restarts =
                machine.done.iter().filter(|action| matches!(action, Action::Restart { .. })).count();
            assert_eq!(
                restarts,
                if was_pointed { 2 } else { 0 },
                "the kubelet is not disturbed without need"
            );
        }
    }
}

#[tokio::test]
async fn an_installation_that_was_cut_off_anywhere_is_taken_back_from_its_record() {
    let count = plan(&facts(&Tree::kubeadm().wanted()), &Tree::kubeadm().wanted()).len();
    for done in 0..count {
        let tree = Tree::with_leftovers();
        let wanted = tree.wanted();
        let before = contents(tree.path());
        let (facts, places) = (facts(&wanted), Places::new(&wanted));
        let steps = plan(&facts, &wanted);
        let mut machine = Played::new(&wanted);
        let mut record = Record::begin(&places, &facts).unwrap();
        let address = wanted.listen.ip();
        let cut = &[&steps[..done], &[impossible(tree.path())]].concat();
        carry_out(cut, address, &mut record, &mut machine, &mut io::sink()).await.unwrap_err();
        assert!(check_not_installed(&places.data).unwrap_err().message.contains("cut off"));
        let mut record = Record::read(&places.data).unwrap().unwrap();
        take_back(&mut record, false, Unready::Stop, &mut machine, &mut io::sink()).await.unwrap();
        assert_eq!(contents(tree.path()), before, "cut off after {done} steps");
    }
}

#[tokio::test]
async fn a_node_that_is_not_ready_again_keeps_its_agent_unless_forced_and_a_second_try_goes_on() {
    let tree = Tree::kubeadm();
    let wanted = tree.wanted();
    let before = contents(tree.path());
    let facts = facts(&wanted);
    let mut machine = Played::new(&wanted);
    perform(&plan(&facts, &wanted), &facts, &wanted, &mut machine, &mut io::sink()).await.unwrap();
    let mut record = Record::read(&Places::new(&wanted).data).unwrap().unwrap();
    machine.done.clear();
    // Reload, Restart, AwaitNode.
    machine.fails_at = Some(2);
    take_back(&mut record, false, Unready::Stop, &mut machine, &mut io::sink()).await.unwrap_err();
    assert!(!machine.done.contains(&Action::Remove));
    machine.fails_at = None;
    take_back(&mut record, false, Unready::Stop, &mut machine, &mut io::sink()).await.unwrap();
    assert_eq!(contents(tree.path()), before);
}

#[tokio::test]
async fn a_failure_is_told_with_the_last_lines_of_the_log() {
    let tree = Tree::kubeadm();
    let wanted = tree.wanted();
    let facts = facts(&wanted);
    let mut machine = Played { fails_at: Some(3), ..Played::new(&wanted) };
    let mut out = Vec::new();
    let failed = perform(&plan(&facts, &wanted), &facts, &wanted, &mut machine, &mut out).await.unwrap_err();
    assert!(failed.message.contains("systemctl start safepoint-agent.service"), "{failed:?}");
    assert!(failed.message.ends_with("the last words"), "{failed:?}");
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("[1/") && out.contains("taking everything back"), "{out}");
}
