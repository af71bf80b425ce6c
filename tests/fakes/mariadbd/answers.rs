//! What the fake server answers to a statement.

use std::sync::atomic::Ordering;

use super::state::State;
use super::variables::Variable;
use crate::Fallible;

/// An answer.
pub(super) enum Answer {
    /// Done, without rows.
    Done,
    /// Names of columns, and rows.
    Rows(Vec<String>, Vec<Vec<Option<String>>>),
    /// One number.
    Count(i64),
    /// An error of the server's.
    Error(String),
    /// Done; the server ends.
    Bye,
}

/// Answers statements; of several, separated by `;`, the last answer counts.
///
/// # Errors
///
/// When the data directory cannot be read or written.
pub(super) fn answer(sql: &str, state: &State) -> Fallible<Answer> {
    let mut last = Answer::Done;
    for statement in sql.split(';').map(str::trim).filter(|text| !text.is_empty()) {
        last = answer_one(statement, state)?;
    }
    Ok(last)
}

fn answer_one(sql: &str, state: &State) -> Fallible<Answer> {
    state.asked(sql);
    let words: Vec<String> = sql.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(match words.as_slice() {
        ["shutdown", ..] => Answer::Bye,
        ["kill", ..] => {
            state.log.line("Note", &format!("asked to {sql}"));
            state.killed.notify_waiters();
            Answer::Done
        }
        ["set", "global" | "@@global", ..] => set_global(sql, state),
        ["do", call] if call.starts_with("fake_load(") => {
            state.work(digits(call));
            Answer::Done
        }
        ["create", "database" | "schema", .., name] => {
            std::fs::create_dir_all(state.data().join(bare(name)))?;
            Answer::Done
        }
        ["drop", "database" | "schema", .., name] => {
            let folder = state.data().join(bare(name));
            if folder.is_dir() {
                std::fs::remove_dir_all(folder)?;
            }
            Answer::Done
        }
        ["create", "table", name, "rows", rows] => {
            let file = table_file(state, name);
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut page = vec![0_u8; 64 * 1024];
            page[..rows.len()].copy_from_slice(rows.as_bytes());
            std::fs::write(file, page)?;
            Answer::Done
        }
        ["select", "count(*)", "from", name] | ["select", "count(1)", "from", name] => {
            match std::fs::read(table_file(state, name)) {
                Ok(page) => Answer::Count(i64::try_from(digits(&String::from_utf8_lossy(&page)))?),
                Err(_) => Answer::Error(format!("Table '{}' doesn't exist", bare(name))),
            }
        }
        ["show", rest @ ..] => show(rest, sql, state),
        ["select", ..] => select(sql, state),
        _ => Answer::Done,
    })
}

fn show(words: &[&str], sql: &str, state: &State) -> Answer {
    let pattern = words
        .iter()
        .position(|word| *word == "like")
        .and_then(|at| words.get(at + 1))
        .map(|pattern| pattern.trim_matches('\'').to_owned());
    let wanted = |name: &str| pattern.as_deref().is_none_or(|pattern| like(name, pattern));
    let columns = || vec!["Variable_name".to_owned(), "Value".to_owned()];
    if words.contains(&"variables") {
        let variables = state.variables();
        let rows = variables
            .0
            .values()
            .filter(|variable| wanted(&variable.name))
            .map(|variable| vec![Some(variable.name.clone()), Some(variable.value.clone())])
            .collect();
        Answer::Rows(columns(), rows)
    } else if words.contains(&"status") && !words.contains(&"engine") {
        let rows = status(state)
            .into_iter()
            .filter(|(name, _)| wanted(&name.to_ascii_lowercase()))
            .map(|(name, value)| vec![Some(name.to_owned()), Some(value.to_string())])
            .collect();
        Answer::Rows(columns(), rows)
    } else {
        Answer::Rows(vec![sql.to_owned()], Vec::new())
    }
}

/// Status counters that move with the transactions that the load reported.
fn status(state: &State) -> Vec<(&'static str, u64)> {
    let done = state.transactions.load(Ordering::Relaxed);
    let pool: u64 = state
        .variables()
        .get("innodb_buffer_pool_size")
        .parse()
        .unwrap_or(0);
    let redo: u64 = state.variables().get("innodb_log_file_size").parse().unwrap_or(1);
    let pages = pool / 16384;
    let written = done * 2048;
    let flushed = done / 8;
    // What the world leaves for later at each transaction, up to where a server stops to catch up.
    let debt = done * state.debt;
    let dirty = (debt / 16384).min(pages * 8 / 10);
    vec![
        ("Aborted_clients", 0),
        ("Bytes_received", done * 900),
        ("Bytes_sent", done * 5000),
        ("Com_begin", done),
        ("Com_commit", done),
        ("Com_select", done * 14),
        ("Connections", state.connections.load(Ordering::Relaxed)),
        ("Created_tmp_disk_tables", 0),
        ("Created_tmp_tables", done),
        ("Handler_commit", done),
        ("Innodb_buffer_pool_bytes_data", (done * 100).min(pages) * 16384),
        ("Innodb_buffer_pool_bytes_dirty", dirty * 16384),
        ("Innodb_buffer_pool_pages_data", (done * 100).min(pages)),
        ("Innodb_buffer_pool_pages_dirty", dirty),
        ("Innodb_buffer_pool_pages_flushed", flushed),
        ("Innodb_buffer_pool_pages_free", pages.saturating_sub(done * 100)),
        ("Innodb_buffer_pool_pages_total", pages),
        ("Innodb_buffer_pool_read_requests", done * 60),
        ("Innodb_buffer_pool_reads", done / 10),
        ("Innodb_buffer_pool_wait_free", 0),
        ("Innodb_buffer_pool_write_requests", done * 30),
        ("Innodb_checkpoint_age", debt.min(redo * 8 / 10)),
        ("Innodb_checkpoint_max_age", redo * 8 / 10),
        ("Innodb_data_fsyncs", done),
        ("Innodb_data_read", done / 10 * 16384),
        ("Innodb_data_reads", done / 10),
        ("Innodb_data_writes", done + flushed),
        ("Innodb_data_written", written + flushed * 16384),
        ("Innodb_history_list_length", done.min(1000)),
        ("Innodb_log_waits", 0),
        ("Innodb_log_write_requests", done * 3),
        ("Innodb_log_writes", done),
        ("Innodb_lsn_current", 45000 + written),
        ("Innodb_os_log_fsyncs", done),
        ("Innodb_os_log_written", written),
        ("Innodb_page_size", 16384),
        ("Innodb_pages_read", done / 10),
        ("Innodb_pages_written", flushed),
        ("Innodb_row_lock_time", 0),
        ("Innodb_row_lock_waits", 0),
        ("Innodb_rows_read", done * 400),
        ("Open_tables", 10),
        ("Queries", done * 20),
        ("Questions", done * 20),
        ("Threads_connected", 1),
        ("Threads_running", 1),
        ("Uptime", state.uptime().as_secs()),
    ]
}

/// The value of a status counter; none where there is no such counter.
fn counter(state: &State, name: &str) -> Option<String> {
    status(state)
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.to_string())
}

fn set_global(sql: &str, state: &State) -> Answer {
    let Some((left, value)) = sql.split_once('=') else {
        return Answer::Done;
    };
    let name = left
        .trim()
        .rsplit([' ', '.', '\t'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    match state
        .variables()
        .take(&name, Some(value.trim().trim_matches('\'')))
    {
        super::variables::Taken::Well(_) => Answer::Done,
        super::variables::Taken::Badly(..) => Answer::Error(format!("Unknown system variable '{name}'")),
    }
}

fn select(sql: &str, state: &State) -> Answer {
    let lower = sql.to_ascii_lowercase();
    let body = &sql["select".len()..];
    let from = lower.find(" from ");
    let list = &body[..from.map_or(body.len(), |at| at - "select".len())];
    let items = split_list(list);
    let columns = items.iter().map(|item| alias(item)).collect();
    let table = from.map_or("", |at| {
        lower[at + 6..].split_whitespace().next().unwrap_or_default()
    });
    match table.rsplit('.').next().unwrap_or_default().trim_matches('`') {
        "" => {
            let row = items.iter().map(|item| scalar(item, state)).collect();
            Answer::Rows(columns, vec![row])
        }
        "system_variables" => {
            let variables = state.variables();
            let rows = variables
                .0
                .values()
                .filter(|variable| named_in(&lower, &variable.name))
                .map(|variable| items.iter().map(|item| field(variable, item)).collect())
                .collect();
            Answer::Rows(columns, rows)
        }
        "global_variables" => {
            let variables = state.variables();
            let rows = variables
                .0
                .values()
                .filter(|variable| named_in(&lower, &variable.name))
                .map(|variable| {
                    items
                        .iter()
                        .map(|item| match column(item).as_str() {
                            "variable_name" => Some(variable.name.to_ascii_uppercase()),
                            _ => Some(variable.value.clone()),
                        })
                        .collect()
                })
                .collect();
            Answer::Rows(columns, rows)
        }
        // One small table with one index, for who wants to read them.
        "tables" if state.scan_hangs => Answer::Count(1000),
        "statistics" if state.scan_hangs => Answer::Rows(
            columns,
            vec![vec![Some("sbtest1".to_owned()), Some("PRIMARY".to_owned())]],
        ),
        _ => Answer::Rows(columns, Vec::new()),
    }
}

/// Whether a variable passes the statement's condition: all do, unless it names some in quotes.
fn named_in(lower_sql: &str, name: &str) -> bool {
    match lower_sql.find(" where ") {
        Some(at) if lower_sql[at..].contains("variable_name") => {
            lower_sql[at..].contains(&format!("'{name}'"))
        }
        _ => true,
    }
}

fn field(variable: &Variable, item: &str) -> Option<String> {
    let or_null = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    match column(item).as_str() {
        "variable_name" => Some(variable.name.to_ascii_uppercase()),
        "global_value" if variable.scope == "SESSION ONLY" => None,
        "global_value" | "session_value" => Some(variable.value.clone()),
        "global_value_origin" => Some(variable.origin.to_owned()),
        "default_value" => Some(variable.default.clone()),
        "variable_scope" => Some(variable.scope.clone()),
        "variable_type" => Some(variable.kind.clone()),
        "variable_comment" => Some(String::new()),
        "numeric_min_value" => variable.min.clone(),
        "numeric_max_value" => variable.max.clone(),
        "numeric_block_size" => variable.block.clone(),
        "enum_value_list" => or_null(&variable.choices),
        "read_only" => Some(if variable.read_only { "YES" } else { "NO" }.to_owned()),
        "command_line_argument" => or_null(&variable.command_line),
        _ => None,
    }
}

fn scalar(item: &str, state: &State) -> Option<String> {
    let bare = column(item);
    if let Some(name) = bare.strip_prefix("@@") {
        let name = name.rsplit('.').next().unwrap_or(name);
        return state
            .variables()
            .0
            .get(name)
            .map(|variable| variable.value.clone());
    }
    match bare.as_str() {
        "version()" => Some(state.version.clone()),
        "connection_id()" => Some("8".to_owned()),
        "database()" | "null" => None,
        text if text.starts_with(|c: char| c.is_ascii_digit()) => Some(text.to_owned()),
        text if text.starts_with('\'') => Some(text.trim_matches('\'').to_owned()),
        text => counter(state, text),
    }
}

/// The column or expression of a select item, lower case, without its alias and cast.
fn column(item: &str) -> String {
    let lower = item.trim().to_ascii_lowercase();
    let inner = lower
        .strip_prefix("cast(")
        .and_then(|rest| rest.split(" as ").next())
        .unwrap_or_else(|| lower.split(" as ").next().unwrap_or_default());
    let inner = inner.trim().trim_matches('`');
    inner.to_owned()
}

fn alias(item: &str) -> String {
    let after_cast = item.rsplit(')').next().unwrap_or(item);
    match after_cast.to_ascii_lowercase().find(" as ") {
        Some(at) => after_cast[at + 4..].trim().to_owned(),
        None => item.trim().to_owned(),
    }
}

fn split_list(list: &str) -> Vec<&str> {
    let (mut items, mut depth, mut begin) = (Vec::new(), 0_i32, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    items.push(list[begin..].trim());
    items
}

fn table_file(state: &State, name: &str) -> std::path::PathBuf {
    let name = bare(name);
    let (schema, table) = name.split_once('.').unwrap_or(("sbtest", &name));
    state.data().join(schema).join(format!("{table}.ibd"))
}

fn bare(name: &str) -> String {
    name.replace(['`', ';'], "")
}

fn digits(text: &str) -> u64 {
    let number: String = text
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    number.parse().unwrap_or(0)
}

/// A LIKE pattern with `%` at its ends only.
fn like(name: &str, pattern: &str) -> bool {
    let pattern = pattern.replace("\\_", "_").to_ascii_lowercase();
    let middle = pattern.trim_matches('%');
    match (pattern.starts_with('%'), pattern.ends_with('%')) {
        (true, true) => name.contains(middle),
        (true, false) => name.ends_with(middle),
        (false, true) => name.starts_with(middle),
        (false, false) => name == middle,
    }
}
