// SPDX-License-Identifier: Apache-2.0
//! The functions of bridge.h that have to do with templates.
use crate::template::{Limits, Template};
use crate::{freeing, guarded, making, text_at, PawlText};

#[repr(C)]
pub struct PawlTemplateLimits {
    fuel: u64,
    output_bytes: u64,
    local_seconds: i64,
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
    making(compiled, message, || Template::compile(text_at(source, source_size)?))
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
    freeing(compiled);
}
