//! Words of an expression: numbers, sizes, names, quoted texts and signs, each with its byte range.

use winnow::ascii::digit1;
use winnow::combinator::{alt, opt};
use winnow::error::ContextError;
use winnow::prelude::*;
use winnow::token::{any, one_of, take_while};

use super::super::Value;
use super::ast::ExprError;
use crate::units::Bytes;

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Literal(Value),
    Name(String),
    Sign(&'static str),
}

/// A word with its byte range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) end: usize,
}

type Parsed<T> = winnow::Result<T, ContextError>;

/// The signs, longer ones first.
const SIGNS: [&str; 14] = [
    "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "(", ")", ",", "=",
];

/// Splits `text` into words.
pub(super) fn lex(text: &str) -> Result<Vec<Spanned>, ExprError> {
    let fail = |at: usize, message: String| ExprError {
        text: text.to_owned(),
        at,
        message,
    };
    let mut rest = text;
    let mut out = Vec::new();
    loop {
        rest = rest.trim_start();
        let start = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(out);
        };
        let token = if first.is_ascii_digit() || first == '.' {
            let word = number
                .parse_next(&mut rest)
                .map_err(|_| fail(start, "expected a number".to_owned()))?;
            Token::Literal(number_value(word).map_err(|message| fail(start, message))?)
        } else if first.is_ascii_alphabetic() || first == '_' {
            let word = name
                .parse_next(&mut rest)
                .map_err(|_| fail(start, "expected a name".to_owned()))?;
            Token::Name(word.to_owned())
        } else if first == '\'' || first == '"' {
            let inner = quoted
                .parse_next(&mut rest)
                .map_err(|_| fail(start, "this quote is never closed".to_owned()))?;
            Token::Literal(Value::Text(inner.to_owned()))
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            rest = &rest[sign.len()..];
            if *sign == "=" {
                return Err(fail(start, "to compare, write == instead of =".to_owned()));
            }
            Token::Sign(sign)
        } else {
            return Err(fail(start, format!("\"{first}\" has no meaning here")));
        };
        out.push(Spanned {
            token,
            start,
            end: text.len() - rest.len(),
        });
    }
}

/// Digits with an optional fraction, exponent and suffix; taken as a whole, so that `1.5Gx` is one wrong word.
fn number<'s>(input: &mut &'s str) -> Parsed<&'s str> {
    (
        take_while(0.., |c: char| c.is_ascii_digit()),
        opt(('.', take_while(0.., |c: char| c.is_ascii_digit()))),
        opt(alt((
            (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1).void(),
            take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '%').void(),
        ))),
    )
        .take()
        .parse_next(input)
}

/// Letters, digits, underscores, with dots between: `baseline.p95_ms`.
fn name<'s>(input: &mut &'s str) -> Parsed<&'s str> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.').parse_next(input)
}

/// A text between equal quotes; there are no escapes.
fn quoted<'s>(input: &mut &'s str) -> Parsed<&'s str> {
    let quote = any.parse_next(input)?;
    let inner = take_while(0.., move |c| c != quote).parse_next(input)?;
    any.parse_next(input)?;
    Ok(inner)
}

/// The value of a number word: whole numbers and sizes as [`Value::Int`], others as [`Value::Float`].
fn number_value(word: &str) -> Result<Value, String> {
    if word.chars().all(|c| c.is_ascii_digit()) {
        if let Ok(n) = word.parse::<i64>() {
            return Ok(Value::Int(n));
        }
        return finite(word);
    }
    let plain = word
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    // `1E` is an exabyte, `1E3` a thousand.
    if plain && !word.ends_with(['e', 'E']) {
        return finite(word);
    }
    match word.parse::<Bytes>() {
        Ok(Bytes(n)) => i64::try_from(n)
            .map(Value::Int)
            .map_err(|_| format!("\"{word}\" is more than 2^63-1 bytes")),
        Err(error) => Err(error.to_string()),
    }
}

fn finite(word: &str) -> Result<Value, String> {
    match word.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(Value::Float(x)),
        Ok(_) => Err(format!("\"{word}\" is too large")),
        Err(_) => Err(format!("\"{word}\" is not a number")),
    }
}
