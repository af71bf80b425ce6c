//! The format of a space file, and of the same tables in a study file.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::expr::Expr;
use super::super::{Scale, Value};
use super::strict::read_strict;
use crate::error::{Error, Result};

/// The format number of space files that this version reads.
const FORMAT: u32 = 1;

fn format() -> u32 {
    FORMAT
}

/// All keys of a space file, for suggestions.
pub const SPACE_KEYS: &[&str] = &[
    "format",
    "knob",
    "constraint",
    "family",
    "type",
    "scale",
    "min",
    "max",
    "unit",
    "default",
    "special",
    "when",
    "needs",
    "writes",
    "reads",
    "values",
    "fix",
    "rule",
    "source",
    "note",
    "name",
    "require",
];

/// A number, a size (`"64M"`), or an expression, as an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity(pub Expr);

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a size like \"64M\", or an expression in quotes")
            }

            fn visit_bool<E: serde::de::Error>(self, value: bool) -> std::result::Result<Quantity, E> {
                Ok(Quantity(Expr::literal(Value::Bool(value))))
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> std::result::Result<Quantity, E> {
                Ok(Quantity(Expr::literal(Value::Int(value))))
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> std::result::Result<Quantity, E> {
                if value.is_finite() {
                    Ok(Quantity(Expr::literal(Value::Float(value))))
                } else {
                    Err(E::custom(format!("{value} is no bound")))
                }
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Quantity, E> {
                Expr::parse(text).map(Quantity).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// The type of a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnobType {
    /// A size.
    Bytes,
    /// A whole number.
    Int,
    /// A number with a fraction.
    Float,
    /// A switch.
    Bool,
    /// Words.
    Enum,
}

/// What one value of an enum writes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueSpec {
    /// Variables with their values.
    pub writes: BTreeMap<String, Value>,
}

/// The words of an enum: a list, or a table that says what each one writes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EnumValues {
    /// Words that the variable of the knob's name takes.
    List(Vec<String>),
    /// Words with what they write.
    Table(BTreeMap<String, ValueSpec>),
}

impl<'de> Deserialize<'de> for EnumValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        // By hand, since an untagged enum would hide unknown keys.
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = EnumValues;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of words, or a table of words with what they write")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<EnumValues, A::Error> {
                let mut words = Vec::new();
                while let Some(value) = seq.next_element::<Value>()? {
                    words.push(value.to_string());
                }
                Ok(EnumValues::List(words))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<EnumValues, A::Error> {
                let mut words = BTreeMap::new();
                while let Some((word, spec)) = map.next_entry::<String, ValueSpec>()? {
                    words.insert(word, spec);
                }
                Ok(EnumValues::Table(words))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A knob as a file has it. In a study file each key that is there replaces that of the family.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnobSpec {
    /// Its family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Its type; the server's where left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<KnobType>,
    /// Its scale; logarithmic for sizes, else linear, where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Its least value; the server's where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Quantity>,
    /// Its greatest value; the server's where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Quantity>,
    /// Only multiples of it are proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Quantity>,
    /// The default, only where no server says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Values that switch meaning (off, auto): categories of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub special: Option<Vec<Value>>,
    /// It is active only where this holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Expr>,
    /// It is part of the space only on servers where this holds, over the baseline's variables, `flavor`
    /// (`'mariadb'`, `'mysql'`), `version_major`, `version_minor`, and the machine class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<Expr>,
    /// Variables it writes, by expressions over `value`, knobs and variables; the one of its name where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<BTreeMap<String, Quantity>>,
    /// How its value is read back from variables; needed where it writes several, or a computed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<Expr>,
    /// Words of an enum; the server's own where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<EnumValues>,
    /// The one value it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Value>,
    /// The expert's first guess, an expression over the machine class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Quantity>,
    /// Where the bounds come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where it stands, `file:line:column`; its file where not known.
    #[serde(skip)]
    pub place: Option<String>,
}

impl KnobSpec {
    /// This knob with every key that `over` has replaced by it.
    #[must_use]
    pub fn overridden(mut self, over: &Self) -> Self {
        macro_rules! take {
            ($($field:ident),*) => { $( if over.$field.is_some() { self.$field = over.$field.clone(); } )* };
        }
        take!(
            family, kind, scale, min, max, unit, default, special, when, needs, writes, reads, values, fix,
            rule, source, note, place
        );
        self
    }
}

/// A constraint as a file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintSpec {
    /// Its name in messages; its text where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What every configuration has to keep.
    pub require: Expr,
    /// Where it stands, `file:line:column`; its file where not known.
    #[serde(skip)]
    pub place: Option<String>,
}

impl ConstraintSpec {
    /// What it is called in messages.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.require.text())
    }
}

/// A space file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpaceFile {
    /// The format's number; this version's where left out.
    #[serde(default = "format")]
    pub format: u32,
    /// Knobs by name.
    #[serde(default)]
    pub knob: BTreeMap<String, KnobSpec>,
    /// Constraints.
    #[serde(default)]
    pub constraint: Vec<ConstraintSpec>,
}

/// A space file with its name, for messages.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedFile {
    /// Path, or `spaces/NAME.toml` of an embedded one.
    pub name: String,
    /// Its contents.
    pub file: SpaceFile,
}

impl NamedFile {
    /// Reads `text`, the contents of the file `name`.
    ///
    /// # Errors
    /// As [`read_strict`], and where the format is of another version.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let file: SpaceFile = read_strict(text, name, SPACE_KEYS)?;
        if file.format != FORMAT {
            return Err(Error::input(format!("format {} is not known here", file.format))
                .at(name)
                .next(format!("write format = {FORMAT}, or use a newer noctune")));
        }
        Ok(Self {
            name: name.to_owned(),
            file,
        })
    }
}
