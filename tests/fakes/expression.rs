//! Expressions of a world file over the variables of the fake server: `if(innodb_flush_method == 'fsync', 200, 400)`.
//!
//! Numbers take K, M and G; `+ - * / ^`, comparisons, `and or not`, and `min max log2 ln exp abs sqrt if`.

use std::collections::BTreeMap;

use crate::Fallible;

/// A value: a number, or a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A number; truth is "not zero".
    Number(f64),
    /// A text, compared without regard to case.
    Text(String),
}

impl Value {
    /// A server's text as a value: a number where it reads as one.
    pub(crate) fn of(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Text(text.to_owned()), Self::Number)
    }

    fn number(&self) -> Fallible<f64> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Text(text) => Err(format!("'{text}' is not a number").into()),
        }
    }

    fn truth(&self) -> Fallible<bool> {
        Ok(self.number()? != 0.0)
    }
}

/// The names an expression may use.
pub(crate) type Names = BTreeMap<String, Value>;

/// The number an expression comes to.
pub(crate) fn number(source: &str, names: &Names) -> Fallible<f64> {
    evaluate(source, names)?.number()
}

/// Whether an expression holds.
pub(crate) fn holds(source: &str, names: &Names) -> Fallible<bool> {
    evaluate(source, names)?.truth()
}

fn evaluate(source: &str, names: &Names) -> Fallible<Value> {
    let mut parser = Parser {
        tokens: tokens(source)?,
        at: 0,
        names,
    };
    let value = parser.binary(0)?;
    match parser.peek() {
        "" => Ok(value),
        rest => Err(format!("unexpected `{rest}` in `{source}`").into()),
    }
}

fn tokens(source: &str) -> Fallible<Vec<String>> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first == '\'' {
            2 + rest[1..].find('\'').ok_or("a text is not closed")?
        } else if first.is_ascii_alphanumeric() || first == '_' {
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
                .unwrap_or(rest.len())
        } else if ["==", "!=", "<=", ">="].iter().any(|two| rest.starts_with(two)) {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// Binary operators from the loosest to the tightest.
const LEVELS: [&[&str]; 6] = [
    &["or"],
    &["and"],
    &["==", "!=", "<=", ">=", "<", ">"],
    &["+", "-"],
    &["*", "/"],
    &["^"],
];

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    names: &'a Names,
}

impl Parser<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        let token = self.peek().to_owned();
        self.at += 1;
        token
    }

    fn expect(&mut self, token: &str) -> Fallible<()> {
        match self.next() {
            found if found == token => Ok(()),
            found => Err(format!("expected `{token}`, found `{found}`").into()),
        }
    }

    fn binary(&mut self, level: usize) -> Fallible<Value> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while operators.contains(&self.peek()) {
            let operator = self.next();
            let right = self.binary(level + 1)?;
            left = apply(&operator, &left, &right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Fallible<Value> {
        match self.peek() {
            "-" => {
                self.at += 1;
                Ok(Value::Number(-self.unary()?.number()?))
            }
            "not" => {
                self.at += 1;
                Ok(flag(!self.unary()?.truth()?))
            }
            _ => self.atom(),
        }
    }

    fn atom(&mut self) -> Fallible<Value> {
        let token = self.next();
        if token == "(" {
            let value = self.binary(0)?;
            self.expect(")")?;
            return Ok(value);
        }
        if let Some(text) = token.strip_prefix('\'') {
            return Ok(Value::Text(text.trim_end_matches('\'').to_owned()));
        }
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            return size(&token).map(Value::Number);
        }
        if self.peek() == "(" {
            return self.call(&token);
        }
        match self.names.get(&token) {
            Some(value) => Ok(value.clone()),
            None => Err(format!("unknown name `{token}`").into()),
        }
    }

    fn call(&mut self, name: &str) -> Fallible<Value> {
        self.expect("(")?;
        let mut values = vec![self.binary(0)?];
        while self.peek() == "," {
            self.at += 1;
            values.push(self.binary(0)?);
        }
        self.expect(")")?;
        if let ("if", [condition, yes, no]) = (name, values.as_slice()) {
            return Ok(if condition.truth()? { yes } else { no }.clone());
        }
        let numbers = values.iter().map(Value::number).collect::<Fallible<Vec<_>>>()?;
        Ok(Value::Number(match (name, numbers.as_slice()) {
            ("min", [a, b]) => a.min(*b),
            ("max", [a, b]) => a.max(*b),
            ("log2", [x]) => x.log2(),
            ("ln", [x]) => x.ln(),
            ("exp", [x]) => x.exp(),
            ("abs", [x]) => x.abs(),
            ("sqrt", [x]) => x.sqrt(),
            _ => return Err(format!("no function {name} of {} values", values.len()).into()),
        }))
    }
}

fn size(token: &str) -> Fallible<f64> {
    let digits = token.trim_end_matches(['K', 'M', 'G']);
    let factor = match &token[digits.len()..] {
        "" => 1.0,
        "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        other => return Err(format!("unknown size suffix `{other}`").into()),
    };
    Ok(digits.parse::<f64>()? * factor)
}

fn flag(truth: bool) -> Value {
    Value::Number(f64::from(u8::from(truth)))
}

fn apply(operator: &str, left: &Value, right: &Value) -> Fallible<Value> {
    if let (Value::Text(a), Value::Text(b)) = (left, right) {
        return match operator {
            "==" => Ok(flag(a.eq_ignore_ascii_case(b))),
            "!=" => Ok(flag(!a.eq_ignore_ascii_case(b))),
            _ => Err(format!("`{operator}` of texts").into()),
        };
    }
    let (a, b) = (left.number()?, right.number()?);
    Ok(match operator {
        "+" => Value::Number(a + b),
        "-" => Value::Number(a - b),
        "*" => Value::Number(a * b),
        "/" => Value::Number(a / b),
        "^" => Value::Number(a.powf(b)),
        "<" => flag(a < b),
        ">" => flag(a > b),
        "<=" => flag(a <= b),
        ">=" => flag(a >= b),
        "==" => flag(a == b),
        "!=" => flag(a != b),
        "and" => flag(a != 0.0 && b != 0.0),
        "or" => flag(a != 0.0 || b != 0.0),
        _ => return Err(format!("unknown operator `{operator}`").into()),
    })
}
