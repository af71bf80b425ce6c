//! Expressions of space and study files: a small language of its own, since size literals like `64M` are part of it.
//!
//! ```text
//! 0.9 * ram            min(4 * cores, 64)        thread_handling == 'pool-of-threads'
//! p95_ms <= 1.1 * baseline.p95_ms                not log_bin or sync_binlog == 1
//! ```

mod ast;
mod eval;
mod interval;
mod lex;
mod parse;

pub use ast::{Expr, ExprError, Name};
pub use eval::{EvalError, Scope};
pub use interval::Range;
