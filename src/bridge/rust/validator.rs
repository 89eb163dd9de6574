// SPDX-License-Identifier: Apache-2.0
//! JSON Schema as a judge of finished answers: another implementation than the one that made the grammar.
use jsonschema::{Draft, Validator as Compiled};
use serde_json::Value;

use crate::failure::{on_large_stack, one_line, Failure};

const STACK_BYTES: usize = 64 << 20;

pub struct Validator {
    compiled: Compiled,
}

fn bad(message: &str) -> Failure {
    Failure::BadInput(one_line(message))
}

fn draft_of(year: i32) -> Option<Draft> {
    match year {
        4 => Some(Draft::Draft4),
        6 => Some(Draft::Draft6),
        7 => Some(Draft::Draft7),
        2019 => Some(Draft::Draft201909),
        2020 => Some(Draft::Draft202012),
        _ => None,
    }
}

impl Validator {
    /// `draft`: 4, 6, 7, 2019 or 2020; of a schema that names its own, that one.
    pub fn compile(schema: &str, draft: i32, checks_formats: bool) -> Result<Validator, Failure> {
        on_large_stack(STACK_BYTES, || {
            let schema: Value = serde_json::from_str(schema).map_err(|error| bad(&error.to_string()))?;
            let mut options = jsonschema::options().should_validate_formats(checks_formats);
            if let Some(draft) = draft_of(draft) {
                options = options.with_draft(draft);
            }
            let compiled = options
                .build(&schema)
                .map_err(|error| Failure::BadSource(one_line(&format!("{error}"))))?;
            Ok(Validator { compiled })
        })
    }

    /// Empty: the text is JSON and the schema holds; else what breaks it, and where.
    pub fn check(&self, instance: &str) -> Result<String, Failure> {
        on_large_stack(STACK_BYTES, || {
            let instance: Value = match serde_json::from_str(instance) {
                Ok(instance) => instance,
                Err(error) => return Ok(one_line(&format!("no JSON: {error}"))),
            };
            let first = self.compiled.iter_errors(&instance).next();
            Ok(match first {
                None => String::new(),
                Some(error) => one_line(&format!("{}: {error}", error.instance_path())),
            })
        })
    }
}
