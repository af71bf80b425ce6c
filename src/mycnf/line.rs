//! One line of a my.cnf, taken apart as the servers do.
//!
//! Source: MariaDB and MySQL manuals, "Using option files"; behaviour checked with `my_print_defaults` 10.11.

/// Blanks as the servers count them.
fn is_blank(c: char) -> bool {
    c == ' ' || ('\t'..='\r').contains(&c)
}

/// `text` without blanks at both ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing: blank or a comment.
    Empty,
    /// `[name]`, blanks at its end removed.
    Group(String),
    /// `[` without `]`.
    BadGroup,
    /// `!include path`; the path may be empty, which servers refuse.
    Include(String),
    /// `!includedir path`; the path may be empty, which servers refuse.
    IncludeFolder(String),
    /// `!` and anything else; servers pass over it.
    UnknownDirective(String),
    /// An option.
    Assignment(Assignment),
}

/// An option, with or without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The name as written.
    pub(super) name: String,
    /// The value without quotes and with escapes resolved; none without a `=`.
    pub(super) value: Option<String>,
    /// What an unquoted `#` directly behind a character cut off.
    pub(super) cut: Option<String>,
    /// Whether a quote was opened and not closed.
    pub(super) unbalanced: bool,
}

/// Takes one line apart.
pub(super) fn read(line: &str) -> Line {
    let text = trim(line);
    match text.chars().next() {
        None | Some('#' | ';') => Line::Empty,
        Some('[') => match text[1..].find(']') {
            Some(end) => Line::Group(text[1..=end].trim_end_matches(is_blank).to_owned()),
            None => Line::BadGroup,
        },
        Some('!') => directive(trim(&text[1..])),
        Some(_) => Line::Assignment(assignment(text)),
    }
}

/// `!include` and `!includedir`: the word has to end with a blank or the line.
fn directive(text: &str) -> Line {
    let (word, rest) = text.split_once(is_blank).unwrap_or((text, ""));
    match word {
        "include" => Line::Include(trim(rest).to_owned()),
        "includedir" => Line::IncludeFolder(trim(rest).to_owned()),
        _ => Line::UnknownDirective(text.to_owned()),
    }
}

fn assignment(text: &str) -> Assignment {
    let (kept, comment, unbalanced) = without_comment(text);
    let glued = kept.chars().last().is_some_and(|c| !is_blank(c));
    let cut = comment.filter(|_| glued).map(str::to_owned);
    let (name, value) = match kept.split_once('=') {
        Some((name, value)) => (name, Some(unescaped(unquoted(trim(value))))),
        None => (kept, None),
    };
    Assignment {
        name: trim(name).to_owned(),
        value,
        cut,
        unbalanced,
    }
}

/// Cuts at the first `#` outside quotes; within quotes a backslash protects the next character.
/// Gives what is kept, what was cut, and whether a quote stayed open.
fn without_comment(text: &str) -> (&str, Option<&str>, bool) {
    let mut quote = None;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        if (c == '"' || c == '\'') && !escaped {
            match quote {
                None => quote = Some(c),
                Some(open) if open == c => quote = None,
                Some(_) => {}
            }
        }
        if quote.is_none() && c == '#' {
            return (&text[..index], Some(&text[index..]), false);
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    (text, None, quote.is_some())
}

/// Without the quotes around it, where the first and the last character are the same quote.
fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

/// `\n \t \r \b \s \" \' \\` resolved; a backslash before anything else stays.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some(c @ ('"' | '\'' | '\\')) => out.push(c),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
    out
}

/// A value as it has to be written so that reading it gives `value` again: plain where that works, else in double quotes.
pub(super) fn quoted(value: &str) -> String {
    let plain = !value.is_empty()
        && trim(value) == value
        && !value
            .chars()
            .any(|c| matches!(c, '#' | '"' | '\'' | '\\') || c.is_control());
    if plain {
        return value.to_owned();
    }
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
