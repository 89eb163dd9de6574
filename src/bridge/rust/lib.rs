// SPDX-License-Identifier: Apache-2.0
//! The border of bridge.h: C types in and out, no panic across. What is done behind it is in the other files.
mod calendar;
mod failure;
mod grammar;
mod grammar_border;
mod language;
mod python_text;
mod template;
mod template_border;
mod validator;
mod vocabulary;

use std::panic::{catch_unwind, AssertUnwindSafe};

use failure::Failure;

const OK: i32 = 0;
const BAD_SOURCE: i32 = 1;
const RAISED: i32 = 2;
const LIMIT: i32 = 3;
const BAD_INPUT: i32 = 4;
const PANIC: i32 = 5;

#[repr(C)]
pub struct PawlText {
    data: *mut u8,
    size: usize,
}

impl PawlText {
    pub(crate) fn new(text: String) -> PawlText {
        let bytes = text.into_bytes().into_boxed_slice();
        let size = bytes.len();
        if size == 0 {
            return PawlText { data: std::ptr::null_mut(), size: 0 };
        }
        PawlText { data: Box::into_raw(bytes) as *mut u8, size }
    }
}

/// SAFETY: `data` points to `size` readable bytes that live during the call, or `size` is 0.
pub(crate) unsafe fn text_at<'a>(data: *const u8, size: usize) -> Result<&'a str, Failure> {
    std::str::from_utf8(slice_at(data, size)).map_err(|_| Failure::BadInput("is not valid UTF-8".into()))
}

/// SAFETY: `data` points to `size` readable values that live during the call, or `size` is 0.
pub(crate) unsafe fn slice_at<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 {
        return &[];
    }
    std::slice::from_raw_parts(data, size)
}

/// Runs `call`, and gives its status and its text or message.
pub(crate) fn guarded(call: impl FnOnce() -> Result<String, Failure>) -> (i32, String) {
    // A panic becomes a status; what it would print about itself is for nobody.
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(text)) => (OK, text),
        Ok(Err(Failure::BadSource(message))) => (BAD_SOURCE, message),
        Ok(Err(Failure::Raised(message))) => (RAISED, message),
        Ok(Err(Failure::Limit(message))) => (LIMIT, message),
        Ok(Err(Failure::BadInput(message))) => (BAD_INPUT, message),
        Ok(Err(Failure::Panicked)) | Err(_) => (PANIC, "the library panicked".into()),
    }
}

/// As guarded, for calls that make something: `made` gets it, or null.
///
/// SAFETY: `made` and `message` are writable.
pub(crate) unsafe fn making<T>(
    made: *mut *mut T,
    message: *mut PawlText,
    make: impl FnOnce() -> Result<T, Failure>,
) -> i32 {
    *made = std::ptr::null_mut();
    let (status, text) = guarded(|| {
        *made = Box::into_raw(Box::new(make()?));
        Ok(String::new())
    });
    *message = PawlText::new(text);
    status
}

/// SAFETY: `object` is null or came from `making` and was not freed.
pub(crate) unsafe fn freeing<T>(object: *mut T) {
    if !object.is_null() {
        // A panic on the way out leaks; it must not cross the border.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(object))));
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
