// SPDX-License-Identifier: Apache-2.0
//! Values as Python writes them: templates were tried out with Python's json.dumps and str.
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

/// Lists and objects inside one another.
const MAX_DEPTH: usize = 200;

/// What json.dumps takes, with the defaults of the template function `tojson`.
struct JsonStyle {
    ensure_ascii: bool,
    indent: Option<usize>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

/// The filter: `x | tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)`.
pub fn tojson(
    state: &State,
    value: &Value,
    ensure_ascii: Option<bool>,
    options: Kwargs,
) -> Result<String, Error> {
    let indent: Option<Value> = options.get("indent")?;
    let indent = match indent {
        None => None,
        Some(width) => Some(
            width
                .as_usize()
                .filter(|width| *width <= 64)
                .ok_or_else(|| invalid("tojson: indent is a number up to 64"))?,
        ),
    };
    let default_item_separator = if indent.is_some() { "," } else { ", " };
    let separators: Option<Value> = options.get("separators")?;
    let (item_separator, key_separator) = match separators {
        None => (default_item_separator.to_string(), ": ".to_string()),
        Some(pair) => (
            pair.get_item_by_index(0)?.to_string(),
            pair.get_item_by_index(1)?.to_string(),
        ),
    };
    let named_ascii: Option<bool> = options.get("ensure_ascii")?;
    let sort_keys: Option<bool> = options.get("sort_keys")?;
    let style = JsonStyle {
        ensure_ascii: ensure_ascii.or(named_ascii).unwrap_or(false),
        indent,
        item_separator,
        key_separator,
        sort_keys: sort_keys.unwrap_or(false),
    };
    options.assert_all_used()?;
    let mut out = String::new();
    write_json(state, value, &style, 0, &mut out)?;
    Ok(out)
}

fn begin_line(style: &JsonStyle, depth: usize, out: &mut String) {
    if let Some(width) = style.indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', width * depth));
    }
}

fn check_depth(state: &State, depth: usize) -> Result<(), Error> {
    state.consume_fuel(1)?;
    if depth > MAX_DEPTH {
        return Err(invalid(format!("a value is nested more than {MAX_DEPTH} deep")));
    }
    Ok(())
}

fn write_json(
    state: &State,
    value: &Value,
    style: &JsonStyle,
    depth: usize,
    out: &mut String,
) -> Result<(), Error> {
    check_depth(state, depth)?;
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            state.consume_fuel(text.len() as u64 / 16)?;
            write_json_string(text, style.ensure_ascii, out);
        }
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            let mut is_empty = true;
            for item in value.try_iter()?.checked() {
                if !is_empty {
                    out.push_str(&style.item_separator);
                }
                is_empty = false;
                begin_line(style, depth + 1, out);
                write_json(state, &item?, style, depth + 1, out)?;
            }
            if !is_empty {
                begin_line(style, depth, out);
            }
            out.push(']');
        }
        ValueKind::Map => {
            out.push('{');
            let mut is_empty = true;
            for key in keys_of(value, style.sort_keys)? {
                if !is_empty {
                    out.push_str(&style.item_separator);
                }
                is_empty = false;
                begin_line(style, depth + 1, out);
                write_json_string(&json_key(&key)?, style.ensure_ascii, out);
                out.push_str(&style.key_separator);
                write_json(state, &value.get_item(&key)?, style, depth + 1, out)?;
            }
            if !is_empty {
                begin_line(style, depth, out);
            }
            out.push('}');
        }
        kind => return Err(invalid(format!("tojson: a value of kind {kind} is no JSON"))),
    }
    Ok(())
}

fn keys_of(map: &Value, is_sorted: bool) -> Result<Vec<Value>, Error> {
    let mut keys = map.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
    if is_sorted {
        keys.sort();
    }
    Ok(keys)
}

fn json_key(key: &Value) -> Result<String, Error> {
    Ok(match key.kind() {
        ValueKind::String => key.as_str().unwrap_or_default().to_string(),
        ValueKind::None => "null".into(),
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.into(),
        ValueKind::Number => number(key),
        kind => return Err(invalid(format!("tojson: a key of kind {kind}"))),
    })
}

fn write_json_string(text: &str, ensure_ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if ensure_ascii && c > '~' => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A number as repr() has it: the fewest digits, an exponent below 1e-4 and from 1e16 on.
fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    let Ok(x) = f64::try_from(value.clone()) else { return value.to_string() };
    if x.is_nan() {
        return "NaN".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let scientific = format!("{x:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&power) {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", power.abs());
    }
    let plain = format!("{x}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// What str() gives: of a string itself, of a list or an object its repr().
pub fn python_str(state: &State, value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    match value.kind() {
        ValueKind::Seq | ValueKind::Map => write_repr(state, value, 0, &mut out)?,
        ValueKind::Number => out = number(value),
        _ => out = value.to_string(),
    }
    Ok(out)
}

fn write_repr(state: &State, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
    check_depth(state, depth)?;
    match value.kind() {
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            state.consume_fuel(text.len() as u64 / 16)?;
            write_string_repr(text, out);
        }
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::Seq => {
            let (open, close) = if value.is_tuple() { ('(', ')') } else { ('[', ']') };
            out.push(open);
            for (index, item) in value.try_iter()?.checked().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(state, &item?, depth + 1, out)?;
            }
            if value.is_tuple() && value.len() == Some(1) {
                out.push(',');
            }
            out.push(close);
        }
        ValueKind::Map => {
            out.push('{');
            for (index, key) in keys_of(value, false)?.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(state, key, depth + 1, out)?;
                out.push_str(": ");
                write_repr(state, &value.get_item(key)?, depth + 1, out)?;
            }
            out.push('}');
        }
        _ => out.push_str(&value.to_string()),
    }
    Ok(())
}

fn write_string_repr(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if (c as u32) < 0x20 || (0x7f..0xa0).contains(&(c as u32)) => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}
