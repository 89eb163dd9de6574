// SPDX-License-Identifier: Apache-2.0
//! A model's vocabulary as a trie of bytes, made once and shared by every grammar of that model.
use std::ffi::c_void;
use std::sync::Arc;

use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::{InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};
use llguidance::ParserFactory;

use crate::failure::{one_line, Failure};

/// text, bytes of it, room for ids → ids of the text as the model's tokenizer makes them; more than there was room
/// for: nothing was written.
pub type Tokenize = unsafe extern "C" fn(*const c_void, *const u8, usize, *mut u32, usize) -> usize;

pub struct Vocabulary {
    pub factory: ParserFactory,
    pub entries: usize,
}

/// The trie keeps the length of a token in ten bits.
const MAX_TOKEN_BYTES: usize = 1000;

struct Environment {
    trie: TokTrie,
    tokenize: Option<Tokenize>,
    user: usize,
}

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    /// The ids of the model's own tokenizer, if they spell the text; else the longest entries from the left.
    fn tokenize_bytes(&self, text: &[u8]) -> Vec<TokenId> {
        let Some(tokenize) = self.tokenize else {
            return self.trie.greedy_tokenize(text);
        };
        let mut ids = vec![0u32; text.len() + 8];
        // SAFETY: the caller of pawl_vocabulary_create keeps `user` alive, and the buffer has the length that is said.
        let count = unsafe {
            tokenize(self.user as *const c_void, text.as_ptr(), text.len(), ids.as_mut_ptr(), ids.len())
        };
        if count <= ids.len() {
            ids.truncate(count);
            if self.trie.decode_raw(&ids) == text {
                return ids;
            }
        }
        self.trie.greedy_tokenize(text)
    }
}

impl Vocabulary {
    /// `words`: what each id appends to a text; empty: never part of one.
    pub fn new(
        mut words: Vec<Vec<u8>>,
        end_ids: &[u32],
        tokenize: Option<Tokenize>,
        user: *const c_void,
    ) -> Result<Vocabulary, Failure> {
        let entries = words.len();
        if entries == 0 || end_ids.is_empty() || end_ids.iter().any(|id| *id as usize >= entries) {
            return Err(Failure::BadInput("has no entries, or an end id outside of them".into()));
        }
        for (id, word) in words.iter_mut().enumerate() {
            if word.len() > MAX_TOKEN_BYTES {
                word.clear();
            }
            if end_ids.contains(&(id as u32)) || (!word.is_empty() && word[0] == TokTrie::SPECIAL_TOKEN_MARKER) {
                // A marker that no text has: such an entry is never a spelling of anything.
                *word = format!("\u{0}[{id}]").into_bytes();
                word[0] = TokTrie::SPECIAL_TOKEN_MARKER;
            }
        }
        let info = TokRxInfo::new(entries as u32, end_ids[0]);
        let trie = TokTrie::from(&info, &words).with_eos_tokens(end_ids);
        let environment: TokEnv = Arc::new(Environment { trie, tokenize, user: user as usize });
        let capabilities = InferenceCapabilities { ff_tokens: true, ..Default::default() };
        let mut factory =
            ParserFactory::new(&environment, capabilities, &SlicedBiasComputer::general_slices())
                .map_err(|error| Failure::BadInput(one_line(&error.to_string())))?;
        factory.quiet();
        let limits = factory.limits_mut();
        limits.verbose_errors = false;
        limits.max_lexer_states = 100_000;
        Ok(Vocabulary { factory, entries })
    }
}
