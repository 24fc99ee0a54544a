//! Functions on lists.

use std::cmp::Ordering;

use crate::cel::ast::Operator;
use crate::cel::budget::{LIST_COST, Stop};
use crate::cel::eval::Run;
use crate::cel::ops;
use crate::cel::value::{Result, Value};

/// Calls the function if it is one of these.
pub(super) fn call<'a>(run: &mut Run<'a, '_>, name: &'static str, args: &[Value<'a>]) -> Option<Result<'a>> {
    if let ("lists.range", [Value::Int(count)]) = (name, args) {
        return Some(range(run, *count));
    }
    let first = args.first()?;
    let length = first.list_len()?;
    let paid = run.budget.spend(1 + length as u64);
    let items = match paid.and_then(|()| first.items(run.nodes)) {
        Ok(items) => items.unwrap_or_default(),
        Err(stop) => return Some(Err(stop)),
    };
    Some(match (name, &args[1..]) {
        ("isSorted", []) => is_sorted(&items),
        ("sum", []) => sum(&items),
        ("min", []) => extreme(&items, "min", Ordering::Less),
        ("max", []) => extreme(&items, "max", Ordering::Greater),
        ("indexOf", [item]) => position(run, items.iter().enumerate(), item),
        ("lastIndexOf", [item]) => position(run, items.iter().enumerate().rev(), item),
        ("first", []) => Ok(Value::Optional(items.into_iter().next().map(Into::into))),
        ("last", []) => Ok(Value::Optional(items.into_iter().next_back().map(Into::into))),
        ("reverse", []) => Ok(Value::list(items.into_iter().rev().collect())),
        ("slice", [Value::Int(from), Value::Int(to)]) => slice(&items, *from, *to),
        ("sort", []) => sort(items),
        ("distinct", []) => distinct(run, &items),
        ("flatten", []) => flatten(run, items, 1),
        ("flatten", [Value::Int(depth)]) => match usize::try_from(*depth) {
            Ok(depth) => flatten(run, items, depth),
            Err(_) => Err(Stop::error("level must be non-negative")),
        },
        ("optional.unwrap" | "unwrapOpt", []) => unwrap(items),
        ("sets.contains", [other]) => {
            sets(run, &items, other, |run, items, others| holds_all(run, items, others))
        }
        ("sets.equivalent", [other]) => sets(run, &items, other, |run, items, others| {
            Ok(holds_all(run, items, others)? && holds_all(run, others, items)?)
        }),
        ("sets.intersects", [other]) => sets(run, &items, other, |run, items, others| {
            for other in others {
                if holds(run, items, other)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }),
        _ => return None,
    })
}

fn range<'a>(run: &mut Run<'a, '_>, count: i64) -> Result<'a> {
    let count = count.max(0);
    run.budget.spend(LIST_COST + count.unsigned_abs())?;
    Ok(Value::list((0..count).map(Value::Int).collect()))
}

fn is_sorted<'a>(items: &[Value<'a>]) -> Result<'a> {
    for pair in items.windows(2) {
        match ops::compare(&pair[0], &pair[1]) {
            None => return Err(Stop::no_such_overload()),
            Some(Some(Ordering::Greater)) => return Ok(Value::Bool(false)),
            Some(_) => {}
        }
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(items: &[Value<'a>]) -> Result<'a> {
    let Some((first, rest)) = items.split_first() else { return Ok(Value::Int(0)) };
    rest.iter().try_fold(first.clone(), |total, item| ops::arithmetic(Operator::Add, &total, item))
}

fn extreme<'a>(items: &[Value<'a>], name: &str, wanted: Ordering) -> Result<'a> {
    let Some((first, rest)) = items.split_first() else {
        return Err(Stop::error(format!("{name} called on empty list")));
    };
    let mut best = first;
    for item in rest {
        match ops::compare(item, best) {
            None => return Err(Stop::no_such_overload()),
            Some(Some(order)) if order == wanted => best = item,
            Some(_) => {}
        }
    }
    Ok(best.clone())
}

fn position<'a, 'v>(
    run: &mut Run<'a, '_>,
    items: impl Iterator<Item = (usize, &'v Value<'a>)>,
    wanted: &Value<'a>,
) -> Result<'a>
where
    'a: 'v,
{
    for (index, item) in items {
        if ops::equal(run.nodes, &mut run.budget, item, wanted)? {
            return Ok(Value::Int(index.try_into().unwrap_or(i64::MAX)));
        }
    }
    Ok(Value::Int(-1))
}

fn slice<'a>(items: &[Value<'a>], from: i64, to: i64) -> Result<'a> {
    let refuse = |what: &str| Err(Stop::error(format!("cannot slice({from}, {to}), {what}")));
    match (usize::try_from(from), usize::try_from(to)) {
        (Ok(from), Ok(to)) if from > to => refuse("start index must be less than or equal to end index"),
        (Ok(from), Ok(to)) => match items.get(from..to) {
            Some(part) => Ok(Value::list(part.to_vec())),
            None => refuse(&format!("list is length {}", items.len())),
        },
        _ => refuse("negative indexes not supported"),
    }
}

fn sort(mut items: Vec<Value<'_>>) -> Result<'_> {
    let comparable = items.windows(2).all(|pair| ops::compare(&pair[0], &pair[1]).is_some());
    if !comparable {
        return Err(Stop::error("list elements must have the same type"));
    }
    items.sort_by(ops::order);
    Ok(Value::list(items))
}

fn distinct<'a>(run: &mut Run<'a, '_>, items: &[Value<'a>]) -> Result<'a> {
    let mut out: Vec<Value<'a>> = Vec::new();
    for item in items {
        if !holds(run, &out, item)? {
            out.push(item.clone());
        }
    }
    Ok(Value::list(out))
}

fn flatten<'a>(run: &mut Run<'a, '_>, mut items: Vec<Value<'a>>, depth: usize) -> Result<'a> {
    for _ in 0..depth {
        if items.iter().all(|item| item.list_len().is_none()) {
            break;
        }
        // Paid for first: the same long list may be contained many times.
        let length: usize = items.iter().map(|item| item.list_len().unwrap_or(1)).sum();
        run.budget.spend(length as u64)?;
        let mut out = Vec::with_capacity(length);
        for item in items {
            match item.items(run.nodes)? {
                Some(inner) => out.extend(inner),
                None => out.push(item),
            }
        }
        items = out;
    }
    Ok(Value::list(items))
}

fn unwrap(items: Vec<Value<'_>>) -> Result<'_> {
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Value::Optional(inner) => out.extend(inner.map(|inner| (*inner).clone())),
            _ => return Err(Stop::no_such_overload()),
        }
    }
    Ok(Value::list(out))
}

fn sets<'a>(
    run: &mut Run<'a, '_>,
    items: &[Value<'a>],
    other: &Value<'a>,
    test: impl FnOnce(&mut Run<'a, '_>, &[Value<'a>], &[Value<'a>]) -> std::result::Result<bool, Stop>,
) -> Result<'a> {
    let others = other.items(run.nodes)?.ok_or_else(Stop::no_such_overload)?;
    test(run, items, &others).map(Value::Bool)
}

fn holds<'a>(
    run: &mut Run<'a, '_>,
    items: &[Value<'a>],
    wanted: &Value<'a>,
) -> std::result::Result<bool, Stop> {
    for item in items {
        if ops::equal(run.nodes, &mut run.budget, item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds_all<'a>(
    run: &mut Run<'a, '_>,
    items: &[Value<'a>],
    wanted: &[Value<'a>],
) -> std::result::Result<bool, Stop> {
    for item in wanted {
        if !holds(run, items, item)? {
            return Ok(false);
        }
    }
    Ok(true)
}
