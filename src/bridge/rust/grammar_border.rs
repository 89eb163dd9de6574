// SPDX-License-Identifier: Apache-2.0
//! The functions of bridge.h that have to do with grammars and schemas.
use std::ffi::c_void;

use crate::failure::Failure;
use crate::grammar::{Grammar, Limits, Walk};
use crate::language;
use crate::validator::Validator;
use crate::vocabulary::{Tokenize, Vocabulary};
use crate::{freeing, guarded, making, slice_at, text_at, PawlText};

#[repr(C)]
pub struct PawlVocabularySource {
    bytes: *const u8,
    ends: *const u64,
    entries: usize,
    end_ids: *const u32,
    end_id_count: usize,
    tokenize: Option<Tokenize>,
    user: *const c_void,
}

#[repr(C)]
pub struct PawlGrammarLimits {
    symbols: u64,
    compile_fuel: u64,
    step_fuel: u64,
}

/// # Safety
/// As bridge.h says: a readable source, writable `made` and `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_vocabulary_create(
    source: *const PawlVocabularySource,
    made: *mut *mut Vocabulary,
    message: *mut PawlText,
) -> i32 {
    making(made, message, || {
        let source = &*source;
        let ends = slice_at(source.ends, source.entries);
        let bytes = slice_at(source.bytes, ends.last().copied().unwrap_or(0) as usize);
        let mut begin = 0;
        let mut words = Vec::with_capacity(ends.len());
        for end in ends {
            words.push(bytes[begin..*end as usize].to_vec());
            begin = *end as usize;
        }
        let end_ids = slice_at(source.end_ids, source.end_id_count);
        Vocabulary::new(words, end_ids, source.tokenize, source.user)
    })
}

/// # Safety
/// `vocabulary` is null or came from pawl_vocabulary_create and was not freed.
#[no_mangle]
pub unsafe extern "C" fn pawl_vocabulary_free(vocabulary: *mut Vocabulary) {
    freeing(vocabulary);
}

/// # Safety
/// As bridge.h says: a live vocabulary, readable `source` and `limits`, writable `compiled` and `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_grammar_compile(
    vocabulary: *const Vocabulary,
    is_lark: i32,
    source: *const u8,
    source_size: usize,
    limits: *const PawlGrammarLimits,
    compiled: *mut *mut Grammar,
    message: *mut PawlText,
) -> i32 {
    making(compiled, message, || {
        let limits = Limits {
            symbols: (*limits).symbols as usize,
            compile_fuel: (*limits).compile_fuel,
            step_fuel: (*limits).step_fuel,
        };
        Grammar::compile(&*vocabulary, is_lark != 0, text_at(source, source_size)?, &limits)
    })
}

/// # Safety
/// `grammar` is null or came from pawl_grammar_compile and was not freed.
#[no_mangle]
pub unsafe extern "C" fn pawl_grammar_free(grammar: *mut Grammar) {
    freeing(grammar);
}

/// # Safety
/// As bridge.h says: a readable language, writable `answer` and `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_language_is_empty(
    source: *const u8,
    source_size: usize,
    fuel: u64,
    answer: *mut i32,
    message: *mut PawlText,
) -> i32 {
    let (status, text) = guarded(|| {
        let form = serde_json::from_str(text_at(source, source_size)?)
            .map_err(|error| Failure::BadInput(error.to_string()))?;
        *answer = match language::is_empty(&language::read(&form)?, fuel)? {
            Some(true) => 1,
            Some(false) => 0,
            None => -1,
        };
        Ok(String::new())
    });
    *message = PawlText::new(text);
    status
}

/// # Safety
/// As bridge.h says: a live grammar, writable `made` and `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_walk_create(
    grammar: *const Grammar,
    made: *mut *mut Walk,
    message: *mut PawlText,
) -> i32 {
    making(made, message, || Ok((*grammar).walk()))
}

/// # Safety
/// As bridge.h says: a live walk that nobody else uses, writable `made` and `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_walk_copy(
    walk: *const Walk,
    made: *mut *mut Walk,
    message: *mut PawlText,
) -> i32 {
    making(made, message, || Ok((*walk).copy()))
}

/// # Safety
/// `walk` is null or came from pawl_walk_create or pawl_walk_copy and was not freed.
#[no_mangle]
pub unsafe extern "C" fn pawl_walk_free(walk: *mut Walk) {
    freeing(walk);
}

/// # Safety
/// As bridge.h says: a live walk, `count` writable words, writable `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_walk_mask(
    walk: *mut Walk,
    words: *mut u64,
    count: usize,
    message: *mut PawlText,
) -> i32 {
    let (status, text) = guarded(|| {
        let words = std::slice::from_raw_parts_mut(words, count);
        (*walk).mask(words)?;
        Ok(String::new())
    });
    *message = PawlText::new(text);
    status
}

/// # Safety
/// As bridge.h says: a live walk, writable `accepted` and `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_walk_accept(
    walk: *mut Walk,
    id: u32,
    accepted: *mut i32,
    message: *mut PawlText,
) -> i32 {
    *accepted = 0;
    let (status, text) = guarded(|| {
        *accepted = i32::from((*walk).accept(id)?);
        Ok(String::new())
    });
    *message = PawlText::new(text);
    status
}

/// # Safety
/// As bridge.h says: a live walk, room for `capacity` ids, writable `count`.
#[no_mangle]
pub unsafe extern "C" fn pawl_walk_forced(
    walk: *mut Walk,
    ids: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> i32 {
    *count = 0;
    let (status, _) = guarded(|| {
        let forced = (*walk).forced();
        let length = forced.len().min(capacity);
        std::ptr::copy_nonoverlapping(forced.as_ptr(), ids, length);
        *count = length;
        Ok(String::new())
    });
    status
}

/// # Safety
/// As bridge.h says: a live walk, writable `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_walk_rollback(
    walk: *mut Walk,
    tokens: usize,
    message: *mut PawlText,
) -> i32 {
    let (status, text) = guarded(|| (*walk).rollback(tokens).map(|()| String::new()));
    *message = PawlText::new(text);
    status
}

/// # Safety
/// As bridge.h says: a live walk.
#[no_mangle]
pub unsafe extern "C" fn pawl_walk_is_complete(walk: *mut Walk) -> i32 {
    let mut is_complete = false;
    let (status, _) = guarded(|| {
        is_complete = (*walk).is_complete();
        Ok(String::new())
    });
    i32::from(status == crate::OK && is_complete)
}

/// # Safety
/// As bridge.h says: a readable schema, writable `compiled` and `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_validator_compile(
    schema: *const u8,
    schema_size: usize,
    draft: i32,
    checks_formats: i32,
    compiled: *mut *mut Validator,
    message: *mut PawlText,
) -> i32 {
    making(compiled, message, || {
        Validator::compile(text_at(schema, schema_size)?, draft, checks_formats != 0)
    })
}

/// # Safety
/// As bridge.h says: a live validator, a readable instance, writable `message`.
#[no_mangle]
pub unsafe extern "C" fn pawl_validator_check(
    validator: *const Validator,
    instance: *const u8,
    instance_size: usize,
    message: *mut PawlText,
) -> i32 {
    let (status, text) = guarded(|| (*validator).check(text_at(instance, instance_size)?));
    *message = PawlText::new(text);
    status
}

/// # Safety
/// `validator` is null or came from pawl_validator_compile and was not freed.
#[no_mangle]
pub unsafe extern "C" fn pawl_validator_free(validator: *mut Validator) {
    freeing(validator);
}
