// SPDX-License-Identifier: Apache-2.0
//! A chat template as the libraries of model makers run it: Jinja with Python's methods, block trimming, and the
//! functions that templates call. Foreign templates are expected to be wrong or hostile: work and memory are paid
//! for with fuel, and each call has a thread whose stack is large enough for what the fuel allows.
use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{escape_formatter, AutoEscape, Environment, Error, ErrorKind, Output, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::calendar::Moment;
use crate::failure::{on_large_stack, one_line, Failure};
use crate::python_text;

const NAME: &str = "chat";
/// Macros and includes inside one another.
const MAX_RECURSION: usize = 100;
/// Address space, not memory: only what is used gets pages. A list put into a list once per turn of a loop is taken
/// down recursively, so the deepest that the fuel allows has to fit.
const STACK_BYTES: usize = 64 << 20;
const STACK_BYTES_PER_FUEL: u64 = 128;

pub struct Limits {
    pub fuel: u64,
    pub output_bytes: u64,
    pub local_seconds: i64,
}

pub struct Template {
    environment: Environment<'static>,
}

/// What raise_exception leaves, so that the template's own words are told from the engine's.
#[derive(Debug)]
struct Raised(String);

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Raised {}

impl Template {
    pub fn compile(source: &str) -> Result<Template, Failure> {
        on_large_stack(STACK_BYTES, || {
            let mut environment = new_environment();
            environment
                .add_template_owned(NAME, source.to_string())
                .map_err(|error| failure_of(&error))?;
            Ok(Template { environment })
        })
    }

    pub fn render(&self, variables: &str, limits: &Limits) -> Result<String, Failure> {
        let stack = STACK_BYTES + limits.fuel.saturating_mul(STACK_BYTES_PER_FUEL) as usize;
        on_large_stack(stack, || {
            let variables: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(variables).map_err(|error| Failure::BadInput(error.to_string()))?;
            let mut environment = self.environment.clone();
            environment.set_fuel(Some(limits.fuel));
            let now = Moment::at(limits.local_seconds);
            environment
                .add_function("strftime_now", move |pattern: &str| bounded(now.format(pattern)));
            let template = environment.get_template(NAME).map_err(|error| failure_of(&error))?;
            let mut out = BoundedText { bytes: Vec::new(), limit: limits.output_bytes as usize };
            let rendered = template.render_captured_to(Value::from(Serde(&variables)), &mut out);
            match rendered {
                Ok(_) => String::from_utf8(out.bytes).map_err(|_| Failure::Panicked),
                Err(error) if error.kind() == ErrorKind::WriteFailure => Err(Failure::Limit(format!(
                    "the template writes more than {} bytes",
                    limits.output_bytes
                ))),
                Err(error) => Err(failure_of(&error)),
            }
        })
    }
}

/// Directives can be repeated; what they make is bounded by what the fuel could have paid for a pattern.
fn bounded(text: String) -> Result<String, Error> {
    if text.len() > 4_096 {
        return Err(Error::new(ErrorKind::InvalidOperation, "strftime_now: the pattern is too long"));
    }
    Ok(text)
}

fn new_environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    if let Ok(syntax) = syntax.build() {
        environment.set_syntax(syntax);
    }
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_recursion_limit(MAX_RECURSION);
    environment.set_unknown_method_callback(unknown_method_callback);
    environment.set_formatter(write_value);
    environment.add_filter("tojson", python_text::tojson);
    environment.add_filter("string", |state: &State, value: &Value| {
        python_text::python_str(state, value)
    });
    environment.add_function("raise_exception", raise_exception);
    environment
}

fn raise_exception(message: &Value, _options: Kwargs) -> Result<Value, Error> {
    let text = message.to_string();
    Err(Error::new(ErrorKind::InvalidOperation, text.clone()).with_source(Raised(text)))
}

fn write_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    use minijinja::value::ValueKind::{Map, Number, Seq};
    if matches!(value.kind(), Seq | Map | Number) {
        let text = python_text::python_str(state, value)?;
        return Ok(out.write_str(&text)?);
    }
    escape_formatter(out, state, value)
}

/// One line: where, what, and the detail.
fn failure_of(error: &Error) -> Failure {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut deepest = error;
    while let Some(current) = cause {
        if let Some(raised) = current.downcast_ref::<Raised>() {
            return Failure::Raised(one_line(&raised.0));
        }
        if let Some(inner) = current.downcast_ref::<Error>() {
            deepest = inner;
        }
        cause = current.source();
    }
    let mut message = match deepest.line().or(error.line()) {
        Some(line) => format!("line {line}: {}", deepest.kind()),
        None => deepest.kind().to_string(),
    };
    if let Some(detail) = deepest.detail() {
        message = format!("{message}: {detail}");
    }
    let message = one_line(&message);
    if deepest.kind() == ErrorKind::OutOfFuel {
        Failure::Limit(message)
    } else {
        Failure::BadSource(message)
    }
}

/// Memory that refuses to grow beyond a limit.
struct BoundedText {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.limit - self.bytes.len() {
            return Err(io::Error::other("the limit is reached"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
