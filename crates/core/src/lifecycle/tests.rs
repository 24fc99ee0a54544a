//! The small parts of the lifecycle by themselves. Its cases are data, in `tests/lifecycle`.

use super::*;

#[test]
fn a_key_is_read_back_as_what_it_says() {
    for label in Label::ALL {
        let key = LabelKey::Operation("collaset".into(), label);
        assert_eq!(key.to_string(), format!("{}.{DOMAIN}/collaset", label.prefix()));
        assert_eq!(LabelKey::parse(&key.to_string()), Ok(Some(key)));
    }
    for mark in Mark::ALL {
        assert_eq!(LabelKey::parse(mark.key()), Ok(Some(LabelKey::Mark(mark))));
    }
    let permission = LabelKey::Permission("update".into());
    assert_eq!(LabelKey::parse(&permission.to_string()), Ok(Some(permission)));
}

#[test]
fn labels_of_others_are_none_of_ours() {
    for key in [
        "app",
        "kusionstack.io/control",
        "operating.example.com/x",
        "co.operating.podopslifecycle.kusionstack.io/x",
    ] {
        assert_eq!(LabelKey::parse(key), Ok(None), "{key}");
    }
}

#[test]
fn a_prefix_with_no_name_or_with_two_is_an_error() {
    for name in ["", "/", "/a/b"] {
        let key = format!("operate.{DOMAIN}{name}");
        assert_eq!(LabelKey::parse(&key), Err(key.as_str().into()));
    }
}
