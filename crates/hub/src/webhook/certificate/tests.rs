//! The life of a certificate, step by step.

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn names(all: &[&str]) -> Names {
    all.iter().map(|name| (*name).to_owned()).collect()
}

fn service() -> Names {
    names(&["safepoint-hub.safepoint-system.svc", "127.0.0.1"])
}

fn begun() -> Timestamp {
    at("2026-11-15T12:00:00Z")
}

/// Takes the step that is due, and says which it was.
fn go(kept: &mut Option<Kept>, names: &Names, now: Timestamp) -> Step {
    let step = plan(kept.as_ref(), names, now);
    if let Some(next) = Kept::step(kept.clone(), &step, names, now).unwrap() {
        *kept = Some(next);
    }
    step
}

#[test]
fn what_was_kept_is_read_back_and_what_is_damaged_is_not() {
    let mut kept = None;
    assert_eq!(go(&mut kept, &service(), begun()), Step::Make);
    let kept = kept.unwrap();
    assert_eq!(Kept::read(&kept.write()).as_ref(), Some(&kept));
    for key in ["ca.crt", "tls.crt", "tls.key", "token"] {
        let mut data = kept.write();
        data.remove(key);
        assert_eq!(Kept::read(&data), None, "without {key}");
    }
    let mut data = kept.write();
    data.insert("tls.crt".into(), ByteString(b"not a certificate".to_vec()));
    assert_eq!(Kept::read(&data), None);
}

#[test]
fn a_generation_is_staged_promoted_and_forgotten_and_what_is_shown_is_trusted_all_the_time() {
    let mut kept = None;
    go(&mut kept, &service(), begun());
    let first = kept.clone().unwrap();
    let due = begun() + LIFE / 3 * 2;
    assert_eq!(go(&mut kept, &service(), begun()), Step::Wait(due));
    assert_eq!(go(&mut kept, &service(), due - SignedDuration::from_secs(1)), Step::Wait(due));

    assert_eq!(go(&mut kept, &service(), due), Step::Stage);
    let staged = kept.clone().unwrap();
    assert_eq!(staged.current, first.current);
    assert!(staged.bundle().contains(&staged.next.as_ref().unwrap().authority));
    assert_eq!(go(&mut kept, &service(), due), Step::Wait(due + OVERLAP));

    assert_eq!(go(&mut kept, &service(), due + OVERLAP), Step::Promote);
    let promoted = kept.clone().unwrap();
    assert_eq!(Some(promoted.current.clone()), staged.next);
    assert!(promoted.bundle().contains(&first.current.authority), "a replica may still show it");
    assert_eq!(go(&mut kept, &service(), due + OVERLAP), Step::Wait(due + OVERLAP * 2));

    assert_eq!(go(&mut kept, &service(), due + OVERLAP * 2), Step::Forget);
    assert_eq!(kept.as_ref().unwrap().bundle(), promoted.current.authority);
    assert_eq!(kept.as_ref().unwrap().token, first.token, "the paths stay");
    assert_eq!(kept.unwrap().ends(), due + LIFE);
}

#[test]
fn another_name_or_the_end_of_its_life_makes_a_new_one_at_once_and_the_old_is_trusted_for_a_while() {
    let mut kept = None;
    go(&mut kept, &service(), begun());
    let first = kept.clone().unwrap();
    let other = names(&["hub.example"]);
    assert_eq!(go(&mut kept, &other, begun()), Step::Make);
    assert_eq!(kept.as_ref().unwrap().past.as_ref(), Some(&first.current.authority));
    assert_eq!(go(&mut kept, &other, begun() + LIFE), Step::Make, "it was away for a season");
}

#[test]
fn a_machine_without_a_clock_gets_one_that_is_good_when_the_time_is_known() {
    let mut kept = None;
    go(&mut kept, &service(), Timestamp::UNIX_EPOCH);
    assert!(kept.unwrap().ends() > at("2026-03-01T00:00:00Z"));
}

#[test]
fn what_somebody_else_put_there_never_makes_it_panic() {
    let key = KeyPair::generate().unwrap();
    for year in [1950, 1970, 2049, 9999] {
        let mut params = CertificateParams::new(vec!["a".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 12, 31);
        let certificate = params.self_signed(&key).unwrap().pem();
        let current = Generation { authority: certificate.clone(), certificate, key: key.serialize_pem() };
        let past = Some(current.authority.clone());
        for next in [None, Some(current.clone())] {
            let kept = Kept { token: token().unwrap(), current: current.clone(), next, past: past.clone() };
            plan(Some(&kept), &names(&["a"]), begun());
        }
    }
}

#[test]
fn no_two_tokens_are_the_same_and_all_can_stand_in_a_path() {
    let all: BTreeSet<String> = (0..50).map(|_| token().unwrap()).collect();
    assert_eq!(all.len(), 50);
    assert!(all.iter().all(|token| is_token(token)), "{all:?}");
    assert!(!is_token("") && !is_token("../../../../../../../../etc/pass"));
}
