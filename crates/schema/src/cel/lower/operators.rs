//! Which operands an operator takes, and what it gives.

use crate::cel::ast::Operator;
use crate::cel::types::Type;

/// The type of the result; `None` if the operands do not fit.
pub(super) fn type_of_operator(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    let same = || left.join(right);
    match operator {
        Operator::Equal | Operator::NotEqual => same().map(|_| Type::Bool),
        Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
            let ordered = |of: &Type| {
                of.is_numeric()
                    || matches!(
                        of,
                        Type::Dyn | Type::Bool | Type::Text | Type::Bytes | Type::Duration | Type::Timestamp
                    )
            };
            let mixed = left.is_numeric() && right.is_numeric();
            (ordered(left) && ordered(right) && (mixed || same().is_some())).then_some(Type::Bool)
        }
        Operator::In => match right {
            Type::Dyn => Some(Type::Bool),
            Type::List(item) => item.join(left).map(|_| Type::Bool),
            Type::Map(key, _) => key.join(left).map(|_| Type::Bool),
            _ => None,
        },
        Operator::Add => match (left, right) {
            (Type::Timestamp, Type::Duration) | (Type::Duration, Type::Timestamp) => Some(Type::Timestamp),
            (Type::Timestamp, Type::Timestamp) => None,
            _ => same().filter(|joined| {
                joined.is_numeric()
                    || matches!(joined, Type::Dyn | Type::Text | Type::Bytes | Type::Duration | Type::List(_))
            }),
        },
        Operator::Subtract => match (left, right) {
            (Type::Timestamp, Type::Timestamp) => Some(Type::Duration),
            (Type::Timestamp, Type::Duration) => Some(Type::Timestamp),
            _ => same().filter(|joined| joined.is_numeric() || matches!(joined, Type::Dyn | Type::Duration)),
        },
        Operator::Multiply | Operator::Divide => {
            same().filter(|joined| joined.is_numeric() || *joined == Type::Dyn)
        }
        Operator::Remainder => same().filter(|joined| matches!(joined, Type::Int | Type::Uint | Type::Dyn)),
    }
}
