//! Expressions of space and study files: a small language of its own, since size literals like `64M` are part of it.
//!
//! ```text
//! 0.9 * ram            min(4 * cores, 64)        thread_handling == 'pool-of-threads'
//! p95_ms <= 1.1 * baseline.p95_ms                not log_bin or sync_binlog == 1
//! ```
//!
//! ```
//! use noctune::space::Value;
//! use noctune::space::expr::Expr;
//!
//! let host = |name: &str| (name == "ram").then_some(Value::Int(8 << 30));
//! let room = Expr::parse("min(0.75 * ram, 4G)").unwrap();
//! assert_eq!(room.eval_number(&host), Ok(4294967296.0));
//! assert!(Expr::parse("ram > 4G and not ram > 16G").unwrap().holds(&host).unwrap());
//!
//! // What cannot be read is shown with a caret under the place.
//! let mistake = Expr::parse("0.75 * (ram").unwrap_err();
//! assert!(mistake.to_string().contains('^'));
//! ```

mod ast;
mod eval;
mod interval;
mod lex;
mod parse;

pub use ast::{Expr, ExprError, Name};
pub use eval::{EvalError, Scope};
pub use interval::Range;
