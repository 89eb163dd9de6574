// SPDX-License-Identifier: Apache-2.0
//! The border of bridge.h: C types in and out, no panic across. What is done behind it is in the other files.
mod calendar;
mod python_text;
mod template;

use std::panic::{catch_unwind, AssertUnwindSafe};

use template::{Failure, Limits, Template};

const OK: i32 = 0;
const BAD_TEMPLATE: i32 = 1;
const RAISED: i32 = 2;
const LIMIT: i32 = 3;
const BAD_INPUT: i32 = 4;
const PANIC: i32 = 5;

#[repr(C)]
pub struct PawlText {
    data: *mut u8,
    size: usize,
}

#[repr(C)]
pub struct PawlTemplateLimits {
    fuel: u64,
    output_bytes: u64,
    local_seconds: i64,
}

impl PawlText {
    fn new(text: String) -> PawlText {
        let bytes = text.into_bytes().into_boxed_slice();
        let size = bytes.len();
        if size == 0 {
            return PawlText { data: std::ptr::null_mut(), size: 0 };
        }
        PawlText { data: Box::into_raw(bytes) as *mut u8, size }
    }
}

/// SAFETY: `data` points to `size` readable bytes that live during the call, or `size` is 0.
unsafe fn text_at<'a>(data: *const u8, size: usize) -> Result<&'a str, Failure> {
    if size == 0 {
        return Ok("");
    }
    std::str::from_utf8(std::slice::from_raw_parts(data, size))
        .map_err(|_| Failure::BadInput("is not valid UTF-8".into()))
}

/// Runs `call`, and gives its status and its text or message.
fn guarded(call: impl FnOnce() -> Result<String, Failure>) -> (i32, String) {
    // A panic becomes a status; what it would print about itself is for nobody.
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(text)) => (OK, text),
        Ok(Err(Failure::BadTemplate(message))) => (BAD_TEMPLATE, message),
        Ok(Err(Failure::Raised(message))) => (RAISED, message),
        Ok(Err(Failure::Limit(message))) => (LIMIT, message),
        Ok(Err(Failure::BadInput(message))) => (BAD_INPUT, message),
        Ok(Err(Failure::Panicked)) | Err(_) => (PANIC, "the template library panicked".into()),
    }
}

/// # Safety
/// As bridge.h says: readable `source`, writable `compiled` and `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_template_compile(
    source: *const u8,
    source_size: usize,
    compiled: *mut *mut Template,
    message: *mut PawlText,
) -> i32 {
    *compiled = std::ptr::null_mut();
    let (status, text) = guarded(|| {
        let template = Template::compile(text_at(source, source_size)?)?;
        *compiled = Box::into_raw(Box::new(template));
        Ok(String::new())
    });
    *message = PawlText::new(text);
    status
}

/// # Safety
/// As bridge.h says: a template that was compiled and not freed, readable `variables` and `limits`, writable `text`.
#[no_mangle]
pub unsafe extern "C" fn pawl_template_render(
    compiled: *const Template,
    variables: *const u8,
    variables_size: usize,
    limits: *const PawlTemplateLimits,
    text: *mut PawlText,
) -> i32 {
    let limits = Limits {
        fuel: (*limits).fuel,
        output_bytes: (*limits).output_bytes,
        local_seconds: (*limits).local_seconds,
    };
    let (status, rendered) =
        guarded(|| (*compiled).render(text_at(variables, variables_size)?, &limits));
    *text = PawlText::new(rendered);
    status
}

/// # Safety
/// `compiled` is null or came from pawl_template_compile and was not freed.
#[no_mangle]
pub unsafe extern "C" fn pawl_template_free(compiled: *mut Template) {
    if !compiled.is_null() {
        drop(Box::from_raw(compiled));
    }
}

/// # Safety
/// `text` came from this library and was not freed.
#[no_mangle]
pub unsafe extern "C" fn pawl_text_free(text: PawlText) {
    if !text.data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(text.data, text.size)));
    }
}
