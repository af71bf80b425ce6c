//! The value of an expression in a scope.

use super::super::Value;
use super::ast::{Binary, Expr, Function, Kind, Node};

/// What names stand for.
pub trait Scope {
    /// The value of `name`; none where it has none.
    fn get(&self, name: &str) -> Option<Value>;
}

impl<F: Fn(&str) -> Option<Value>> Scope for F {
    fn get(&self, name: &str) -> Option<Value> {
        self(name)
    }
}

/// Why an expression has no value; `at` is a byte position in its text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A name without a value.
    #[error("\"{name}\" has no value")]
    Missing {
        /// The name.
        name: String,
        /// Where it stands.
        at: usize,
    },
    /// A text where a number is needed, or the like.
    #[error("{what}")]
    Type {
        /// What does not go together.
        what: String,
        /// Where.
        at: usize,
    },
    /// A division by zero or an overflow.
    #[error("the result is not a finite number")]
    NotFinite {
        /// Where.
        at: usize,
    },
}

impl Expr {
    /// Its value in `scope`. Whole numbers stay whole under `+ - *` where they fit; `/` gives a fraction; `round`, `floor`
    /// and `ceil` give whole numbers; switches count as 0 and 1; texts compare without regard to case.
    ///
    /// # Errors
    /// A name without a value, values that do not go together, or a result that is not finite.
    pub fn eval(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        eval(&self.root, scope)
    }

    /// Its value as a number.
    ///
    /// # Errors
    /// As [`Expr::eval`], and where it is a text.
    pub fn eval_number(&self, scope: &dyn Scope) -> Result<f64, EvalError> {
        number(&self.root, scope)
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// As [`Expr::eval`], and where it is neither true nor false.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, EvalError> {
        truth(&self.root, scope)
    }

    /// The sides of the comparison it is, each as text with its value, and the first false part of an `and`.
    /// None where it is no comparison or has no value. For messages.
    pub fn sides(&self, scope: &dyn Scope) -> Option<((String, Value), (String, Value))> {
        let mut node = &self.root;
        while let Kind::Binary(Binary::And, left, right) = &node.kind {
            node = if truth(left, scope).ok()? { right } else { left };
        }
        let Kind::Binary(op, left, right) = &node.kind else {
            return None;
        };
        if !op.compares() {
            return None;
        }
        let side = |n: &Node| Some((self.text.get(n.start..n.end)?.to_owned(), eval(n, scope).ok()?));
        Some((side(left)?, side(right)?))
    }
}

fn type_error(what: impl Into<String>, node: &Node) -> EvalError {
    EvalError::Type {
        what: what.into(),
        at: node.start,
    }
}

fn number(node: &Node, scope: &dyn Scope) -> Result<f64, EvalError> {
    let value = eval(node, scope)?;
    value
        .as_f64()
        .ok_or_else(|| type_error(format!("\"{value}\" is not a number"), node))
}

fn truth(node: &Node, scope: &dyn Scope) -> Result<bool, EvalError> {
    let value = eval(node, scope)?;
    as_bool(&value).ok_or_else(|| type_error(format!("\"{value}\" is neither true nor false"), node))
}

/// Reads switches as servers write them.
fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(b) => Some(*b),
        Value::Int(0) => Some(false),
        Value::Int(1) => Some(true),
        Value::Int(_) | Value::Float(_) => None,
        Value::Text(text) => match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" => Some(true),
            "off" | "false" | "no" => Some(false),
            _ => None,
        },
    }
}

fn eval(node: &Node, scope: &dyn Scope) -> Result<Value, EvalError> {
    match &node.kind {
        Kind::Literal(value) => Ok(value.clone()),
        Kind::Name(name) => scope.get(name).ok_or_else(|| EvalError::Missing {
            name: name.clone(),
            at: node.start,
        }),
        Kind::Not(inner) => Ok(Value::Bool(!truth(inner, scope)?)),
        Kind::Negate(inner) => match eval(inner, scope)? {
            Value::Int(n) if n != i64::MIN => Ok(Value::Int(-n)),
            _ => Ok(Value::Float(-number(inner, scope)?)),
        },
        Kind::Binary(Binary::Or, left, right) => Ok(Value::Bool(truth(left, scope)? || truth(right, scope)?)),
        Kind::Binary(Binary::And, left, right) => {
            Ok(Value::Bool(truth(left, scope)? && truth(right, scope)?))
        }
        Kind::Binary(op, left, right) if op.compares() => {
            compare(*op, &eval(left, scope)?, &eval(right, scope)?, node)
        }
        Kind::Binary(op, left, right) => {
            let (a, b) = (eval(left, scope)?, eval(right, scope)?);
            if let (Value::Int(a), Value::Int(b)) = (&a, &b)
                && let Some(whole) = whole(*op, *a, *b)
            {
                return Ok(Value::Int(whole));
            }
            let (a, b) = (number(left, scope)?, number(right, scope)?);
            finite(
                match op {
                    Binary::Add => a + b,
                    Binary::Subtract => a - b,
                    Binary::Multiply => a * b,
                    _ => a / b,
                },
                node,
            )
        }
        Kind::Call(function, arguments) => call(*function, arguments, node, scope),
    }
}

fn whole(op: Binary, a: i64, b: i64) -> Option<i64> {
    match op {
        Binary::Add => a.checked_add(b),
        Binary::Subtract => a.checked_sub(b),
        Binary::Multiply => a.checked_mul(b),
        _ => None,
    }
}

fn finite(x: f64, node: &Node) -> Result<Value, EvalError> {
    if x.is_finite() {
        Ok(Value::Float(x))
    } else {
        Err(EvalError::NotFinite { at: node.start })
    }
}

fn compare(op: Binary, a: &Value, b: &Value, node: &Node) -> Result<Value, EvalError> {
    use std::cmp::Ordering;
    let order = match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) => x.partial_cmp(&y),
        _ => None,
    };
    let equal = match (a, b) {
        (Value::Int(x), Value::Int(y)) => x == y,
        (Value::Text(x), Value::Text(y)) => x.eq_ignore_ascii_case(y),
        (Value::Bool(x), Value::Text(_)) => as_bool(b) == Some(*x),
        (Value::Text(_), Value::Bool(y)) => as_bool(a) == Some(*y),
        // A number against a text: equal where the text is that number (`'1' == 1`).
        (Value::Text(x), other) | (other, Value::Text(x)) => {
            x.parse::<f64>().ok().is_some_and(|x| other.as_f64() == Some(x))
        }
        _ => order == Some(Ordering::Equal),
    };
    let result = match op {
        Binary::Equal => equal,
        Binary::NotEqual => !equal,
        _ => {
            let order = order.ok_or_else(|| type_error(format!("{a} and {b} have no order"), node))?;
            match op {
                Binary::Less => order == Ordering::Less,
                Binary::AtMost => order != Ordering::Greater,
                Binary::Greater => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }
        }
    };
    Ok(Value::Bool(result))
}

fn call(function: Function, arguments: &[Node], node: &Node, scope: &dyn Scope) -> Result<Value, EvalError> {
    match function {
        Function::Min | Function::Max => {
            let mut best: Option<(f64, Value)> = None;
            for argument in arguments {
                let x = number(argument, scope)?;
                let better = best
                    .as_ref()
                    .is_none_or(|(y, _)| if function == Function::Min { x < *y } else { x > *y });
                if better {
                    best = Some((x, eval(argument, scope)?));
                }
            }
            best.map(|(_, value)| value)
                .ok_or_else(|| type_error("min and max take at least one value", node))
        }
        Function::Round | Function::Floor | Function::Ceil => {
            let Some(argument) = arguments.first() else {
                return Err(type_error("expected one value", node));
            };
            if let value @ Value::Int(_) = eval(argument, scope)? {
                return Ok(value);
            }
            let x = number(argument, scope)?;
            let x = match function {
                Function::Round => x.round(),
                Function::Floor => x.floor(),
                _ => x.ceil(),
            };
            // 2^63 itself does not fit.
            if x >= -(2f64.powi(63)) && x < 2f64.powi(63) {
                Ok(Value::Int(x as i64))
            } else {
                Err(EvalError::NotFinite { at: node.start })
            }
        }
    }
}
