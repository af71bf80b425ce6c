//! Grammar, loosest first: `or`, `and`, `not`, comparison (not chained), `+ -`, `* /`, unary minus, value.

use super::super::Value;
use super::ast::{Binary, ExprError, Function, Kind, Node};
use super::lex::{Spanned, Token, lex};

/// Parentheses and signs may nest this deep; more is a mistake, and would exhaust the stack.
const DEEPEST: usize = 64;

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Result<Node, ExprError> {
    let tokens = lex(text)?;
    let mut parser = Parser {
        text,
        tokens: &tokens,
        next: 0,
        depth: 0,
    };
    let node = parser.or()?;
    if parser.next < tokens.len() {
        return Err(parser.fail("expected an operator or the end"));
    }
    Ok(node)
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Spanned],
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    fn fail(&self, message: impl Into<String>) -> ExprError {
        ExprError {
            text: self.text.to_owned(),
            at: self.tokens.get(self.next).map_or(self.text.len(), |t| t.start),
            message: message.into(),
        }
    }

    fn sign(&mut self, sign: &str) -> bool {
        let hit =
            matches!(self.tokens.get(self.next), Some(Spanned { token: Token::Sign(s), .. }) if *s == sign);
        self.next += usize::from(hit);
        hit
    }

    fn word(&mut self, word: &str) -> bool {
        let hit =
            matches!(self.tokens.get(self.next), Some(Spanned { token: Token::Name(n), .. }) if n == word);
        self.next += usize::from(hit);
        hit
    }

    fn deeper(&mut self) -> Result<(), ExprError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fail(format!("nested more than {DEEPEST} deep")));
        }
        Ok(())
    }

    fn or(&mut self) -> Result<Node, ExprError> {
        self.deeper()?;
        let mut left = self.and()?;
        while self.word("or") {
            left = binary(Binary::Or, left, self.and()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Node, ExprError> {
        let mut left = self.not()?;
        while self.word("and") {
            left = binary(Binary::And, left, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Node, ExprError> {
        let start = self.tokens.get(self.next).map_or(0, |t| t.start);
        if self.word("not") {
            self.deeper()?;
            let inner = self.not()?;
            self.depth -= 1;
            let end = inner.end;
            return Ok(Node {
                kind: Kind::Not(Box::new(inner)),
                start,
                end,
            });
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Node, ExprError> {
        let left = self.sum()?;
        let Some(op) = self.comparator() else {
            return Ok(left);
        };
        let node = binary(op, left, self.sum()?);
        let at = self.next;
        if self.comparator().is_some() {
            self.next = at;
            return Err(self.fail("comparisons cannot be chained: join two with \"and\""));
        }
        Ok(node)
    }

    fn comparator(&mut self) -> Option<Binary> {
        [
            ("==", Binary::Equal),
            ("!=", Binary::NotEqual),
            ("<=", Binary::AtMost),
            (">=", Binary::AtLeast),
            ("<", Binary::Less),
            (">", Binary::Greater),
        ]
        .into_iter()
        .find_map(|(sign, op)| self.sign(sign).then_some(op))
    }

    fn sum(&mut self) -> Result<Node, ExprError> {
        let mut left = self.product()?;
        loop {
            let op = if self.sign("+") {
                Binary::Add
            } else if self.sign("-") {
                Binary::Subtract
            } else {
                return Ok(left);
            };
            left = binary(op, left, self.product()?);
        }
    }

    fn product(&mut self) -> Result<Node, ExprError> {
        let mut left = self.unary()?;
        loop {
            let op = if self.sign("*") {
                Binary::Multiply
            } else if self.sign("/") {
                Binary::Divide
            } else {
                return Ok(left);
            };
            left = binary(op, left, self.unary()?);
        }
    }

    fn unary(&mut self) -> Result<Node, ExprError> {
        let start = self.tokens.get(self.next).map_or(0, |t| t.start);
        if self.sign("-") {
            self.deeper()?;
            let inner = self.unary()?;
            self.depth -= 1;
            let end = inner.end;
            return Ok(Node {
                kind: Kind::Negate(Box::new(inner)),
                start,
                end,
            });
        }
        self.value()
    }

    fn value(&mut self) -> Result<Node, ExprError> {
        if self.sign("(") {
            let node = self.or()?;
            if !self.sign(")") {
                return Err(self.fail("expected \")\""));
            }
            return Ok(node);
        }
        let Some(Spanned { token, start, end }) = self.tokens.get(self.next).cloned() else {
            return Err(self.fail("expected a value, but the expression ends"));
        };
        let kind = match token {
            Token::Literal(value) => Kind::Literal(value),
            Token::Name(word) => match word.as_str() {
                "true" => Kind::Literal(Value::Bool(true)),
                "false" => Kind::Literal(Value::Bool(false)),
                "and" | "or" | "not" => return Err(self.fail(format!("expected a value, found \"{word}\""))),
                _ => {
                    self.next += 1;
                    if self.sign("(") {
                        return self.call(&word, start);
                    }
                    self.next -= 1;
                    Kind::Name(word)
                }
            },
            Token::Sign(sign) => return Err(self.fail(format!("expected a value, found \"{sign}\""))),
        };
        self.next += 1;
        Ok(Node { kind, start, end })
    }

    fn call(&mut self, word: &str, start: usize) -> Result<Node, ExprError> {
        let Some((_, function)) = Function::NAMES.iter().find(|(name, _)| *name == word) else {
            let known: Vec<_> = Function::NAMES.iter().map(|(name, _)| *name).collect();
            return Err(ExprError {
                text: self.text.to_owned(),
                at: start,
                message: format!("there is no function \"{word}\"; there are {}", known.join(", ")),
            });
        };
        let mut arguments = vec![self.or()?];
        while self.sign(",") {
            arguments.push(self.or()?);
        }
        if !self.sign(")") {
            return Err(self.fail("expected \",\" or \")\""));
        }
        if function.unary() && arguments.len() != 1 {
            return Err(ExprError {
                text: self.text.to_owned(),
                at: start,
                message: format!("{word} takes one value"),
            });
        }
        let end = self.tokens.get(self.next - 1).map_or(start, |t| t.end);
        Ok(Node {
            kind: Kind::Call(*function, arguments),
            start,
            end,
        })
    }
}

fn binary(op: Binary, left: Node, right: Node) -> Node {
    let (start, end) = (left.start, right.end);
    Node {
        kind: Kind::Binary(op, Box::new(left), Box::new(right)),
        start,
        end,
    }
}
