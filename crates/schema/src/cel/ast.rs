//! A CEL expression as written, before it is checked against types.

/// Where an expression stands in its source, in bytes.
pub(super) type Offset = u32;

/// An expression and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ast {
    /// The token that makes the expression: an operator, a dot, an opening bracket, or its only word.
    pub(super) at: Offset,
    pub(super) kind: AstKind,
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

// === impl Operator ===

impl Operator {
    /// The name under which messages know it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Equal => "_==_",
            Self::NotEqual => "_!=_",
            Self::Less => "_<_",
            Self::LessEqual => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterEqual => "_>=_",
            Self::In => "@in",
            Self::Add => "_+_",
            Self::Subtract => "_-_",
            Self::Multiply => "_*_",
            Self::Divide => "_/_",
            Self::Remainder => "_%_",
        }
    }
}

/// What kind of expression it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AstKind {
    Literal(Literal),
    Ident(Box<str>),
    Select {
        of: Box<Ast>,
        field: Box<str>,
        optional: bool,
    },
    Index {
        of: Box<Ast>,
        by: Box<Ast>,
        optional: bool,
    },
    Call {
        target: Option<Box<Ast>>,
        name: Box<str>,
        args: Vec<Ast>,
    },
    /// The flag marks an element that is left out if it is an empty optional.
    List(Vec<(Ast, bool)>),
    Map(Vec<(Ast, Ast, bool)>),
    /// Chains are kept flat, so that a long enumeration is not a deep tree.
    And(Vec<Ast>),
    Or(Vec<Ast>),
    Not(Box<Ast>),
    Negate(Box<Ast>),
    If(Box<[Ast; 3]>),
    Binary(Operator, Box<[Ast; 2]>),
}
