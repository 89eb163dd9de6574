// SPDX-License-Identifier: Apache-2.0
//! Regular languages as JSON, and what the automata library makes of them. The forms are drawn in bridge.h.
use llguidance::derivre::{JsonQuoteOptions, RegexAst, RegexBuilder};
use serde_json::Value;

use crate::failure::{one_line, Failure};

const MAX_DEPTH: usize = 200;
/// What may stand behind a backslash in a string: every short escape, and \u00XX for control characters alone, so
/// that one text has one spelling but for those.
const ESCAPES: &str = "nrbtf\\\"u";

fn bad(message: &str) -> Failure {
    Failure::BadInput(message.into())
}

fn list(value: &Value, depth: usize) -> Result<Vec<RegexAst>, Failure> {
    let items = value.as_array().ok_or_else(|| bad("a list of languages is no array"))?;
    items.iter().map(|item| read_at(item, depth + 1)).collect()
}

fn count(value: &Value) -> Result<u32, Failure> {
    value.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| bad("a count is no small integer"))
}

pub fn read(value: &Value) -> Result<RegexAst, Failure> {
    read_at(value, 0)
}

fn read_at(value: &Value, depth: usize) -> Result<RegexAst, Failure> {
    if depth > MAX_DEPTH {
        return Err(Failure::Limit("languages are nested too deep".into()));
    }
    let members = value.as_object().ok_or_else(|| bad("a language is no object"))?;
    let (kind, what) = members.iter().next().ok_or_else(|| bad("a language is empty"))?;
    let text = || what.as_str().map(String::from).ok_or_else(|| bad("a language's text is no string"));
    let boxed = || Ok::<_, Failure>(Box::new(read_at(what, depth + 1)?));
    Ok(match kind.as_str() {
        "literal" => RegexAst::Literal(text()?),
        "regex" => RegexAst::Regex(text()?),
        "and" => RegexAst::And(list(what, depth)?),
        "or" => RegexAst::Or(list(what, depth)?),
        "not" => RegexAst::Not(boxed()?),
        "concat" => RegexAst::Concat(list(what, depth)?),
        "quote" => quoted(what, depth + 1)?,
        "repeat" => {
            let parts = what.as_array().filter(|a| a.len() == 3).ok_or_else(|| bad("repeat wants three"))?;
            let most = if parts[2].is_null() { u32::MAX } else { count(&parts[2])? };
            RegexAst::Repeat(Box::new(read_at(&parts[0], depth + 1)?), count(&parts[1])?, most)
        }
        "multiple" => {
            let parts = what.as_array().filter(|a| a.len() == 2).ok_or_else(|| bad("multiple wants two"))?;
            RegexAst::MultipleOf(count(&parts[0])?, count(&parts[1])?)
        }
        _ => return Err(bad("a language is of an unknown kind")),
    })
}

/// Texts as JSON strings. What is said of texts together is said of their spellings together: where a string can go
/// on in almost any way the library sees that at once, but not inside of quotes.
fn quoted(value: &Value, depth: usize) -> Result<RegexAst, Failure> {
    let inner = value.as_object().and_then(|members| members.iter().next());
    let all = |what: &Value| {
        let items = what.as_array().ok_or_else(|| bad("a list of languages is no array"))?;
        items.iter().map(|item| quoted(item, depth + 1)).collect::<Result<Vec<_>, Failure>>()
    };
    // Beside something that is no negation a negation needs no bounds of its own.
    let both = |what: &Value| {
        let items = what.as_array().ok_or_else(|| bad("a list of languages is no array"))?;
        if items.iter().all(|item| item.get("not").is_some()) {
            return all(what);
        }
        let one = |item: &Value| match item.get("not") {
            Some(inner) => Ok(RegexAst::Not(Box::new(quoted(inner, depth + 1)?))),
            None => quoted(item, depth + 1),
        };
        items.iter().map(one).collect::<Result<Vec<_>, Failure>>()
    };
    let spelled = |ast| {
        let options = JsonQuoteOptions { allowed_escapes: ESCAPES.into(), raw_mode: false };
        RegexAst::JsonQuote(Box::new(ast), options)
    };
    if depth > MAX_DEPTH {
        return Err(Failure::Limit("languages are nested too deep".into()));
    }
    Ok(match inner {
        Some((kind, what)) if kind == "and" => RegexAst::And(both(what)?),
        Some((kind, what)) if kind == "or" => RegexAst::Or(all(what)?),
        Some((kind, what)) if kind == "not" => RegexAst::And(vec![
            spelled(RegexAst::Regex("(?s:.*)".into())),
            RegexAst::Not(Box::new(quoted(what, depth + 1)?)),
        ]),
        _ => spelled(read_at(value, depth)?),
    })
}

/// Whether no text at all belongs to the language; nothing when that takes more than `fuel`.
pub fn is_empty(ast: &RegexAst, fuel: u64) -> Result<Option<bool>, Failure> {
    let mut builder = RegexBuilder::new();
    let expression = builder.mk(ast).map_err(|error| Failure::BadSource(one_line(&error.to_string())))?;
    if builder.exprset().is_positive(expression) {
        return Ok(Some(false));
    }
    match builder.to_regex_limited(expression, fuel) {
        Ok(mut regex) => Ok(Some(regex.always_empty())),
        Err(_) => Ok(None),
    }
}
