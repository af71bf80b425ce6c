//! The syntax tree of an expression, and the errors that point into its text.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::Value;
use super::parse;

/// A parsed expression; keeps its text, which is also its serialised form.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    pub(super) text: String,
    pub(super) root: Node,
}

/// A node with its byte range in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Literal(Value),
    Name(String),
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Binary {
    /// Whether it compares, so that its two sides are worth showing.
    pub(super) fn compares(self) -> bool {
        matches!(
            self,
            Self::Equal | Self::NotEqual | Self::Less | Self::AtMost | Self::Greater | Self::AtLeast
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Min,
    Max,
    Round,
    Floor,
    Ceil,
}

impl Function {
    pub(super) const NAMES: [(&'static str, Self); 5] = [
        ("min", Self::Min),
        ("max", Self::Max),
        ("round", Self::Round),
        ("floor", Self::Floor),
        ("ceil", Self::Ceil),
    ];

    /// Whether it takes exactly one argument; the others take one or more.
    pub(super) fn unary(self) -> bool {
        matches!(self, Self::Round | Self::Floor | Self::Ceil)
    }
}

/// A name in an expression with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    /// The name, dots included (`baseline.p95_ms`).
    pub name: &'a str,
    /// Byte position of its first letter in the text.
    pub at: usize,
}

/// What is wrong with an expression, where, shown with a caret under the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprError {
    /// The whole expression.
    pub text: String,
    /// Byte position in `text`.
    pub at: usize,
    /// What is wrong, e.g. `expected a value`.
    pub message: String,
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.at).unwrap_or(&self.text);
        // The caret line keeps tabs, so that it stays under the place.
        let pad: String = before
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        write!(
            f,
            "{} (at character {})\n    {}\n    {pad}^",
            self.message,
            before.chars().count() + 1,
            self.text.replace('\n', " ")
        )
    }
}

impl std::error::Error for ExprError {}

impl Expr {
    /// Parses `text`.
    ///
    /// # Errors
    /// Where the text is no expression: the byte position and what was expected there.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        Ok(Self {
            text: text.to_owned(),
            root: parse::parse(text)?,
        })
    }

    /// An expression that is just `value`.
    pub fn literal(value: Value) -> Self {
        let text = match &value {
            Value::Text(text) => format!("'{text}'"),
            Value::Bool(b) => b.to_string(),
            other => other.to_string(),
        };
        let end = text.len();
        Self {
            text,
            root: Node {
                kind: Kind::Literal(value),
                start: 0,
                end,
            },
        }
    }

    /// Its text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value where it is nothing but a literal.
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.root.kind {
            Kind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it is just the name `name`.
    pub fn is_name(&self, name: &str) -> bool {
        matches!(&self.root.kind, Kind::Name(n) if n == name)
    }

    /// Every name in it, in order, repeated as often as it stands there.
    pub fn names(&self) -> Vec<Name<'_>> {
        fn walk<'a>(node: &'a Node, out: &mut Vec<Name<'a>>) {
            match &node.kind {
                Kind::Literal(_) => {}
                Kind::Name(name) => out.push(Name { name, at: node.start }),
                Kind::Not(inner) | Kind::Negate(inner) => walk(inner, out),
                Kind::Binary(_, left, right) => {
                    walk(left, out);
                    walk(right, out);
                }
                Kind::Call(_, arguments) => arguments.iter().for_each(|node| walk(node, out)),
            }
        }
        let mut out = Vec::new();
        walk(&self.root, &mut out);
        out
    }

    /// An error at byte `at` of this expression.
    pub fn error_at(&self, at: usize, message: impl Into<String>) -> ExprError {
        ExprError {
            text: self.text.clone(),
            at,
            message: message.into(),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
