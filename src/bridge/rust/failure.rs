// SPDX-License-Identifier: Apache-2.0
//! How a call ends when it does not end well, and the thread that a call runs on when foreign input decides how deep
//! it recurses.

pub enum Failure {
    /// What was given breaks its own rules: a template, a schema, a grammar.
    BadSource(String),
    Raised(String),
    Limit(String),
    BadInput(String),
    Panicked,
}

/// Messages go to people and into one line.
pub fn one_line(text: &str) -> String {
    const MAX_CHARS: usize = 500;
    text.chars().take(MAX_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

pub fn on_large_stack<T: Send>(
    bytes: usize,
    call: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(bytes).spawn_scoped(scope, call);
        match thread {
            Ok(thread) => thread.join().unwrap_or(Err(Failure::Panicked)),
            Err(error) => Err(Failure::Limit(format!("no thread for the call: {error}"))),
        }
    })
}
