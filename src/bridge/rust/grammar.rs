// SPDX-License-Identifier: Apache-2.0
//! Grammars: from the form of bridge.h, where lexemes are regular languages, or from Lark; compiled against a
//! vocabulary under limits, and walked token by token.
use std::collections::HashMap;

use llguidance::api::{GrammarInit, SkipSpec, TopLevelGrammar};
use llguidance::derivre::RegexAst;
use llguidance::earley::lexerspec::LexerSpec;
use llguidance::earley::{Grammar as Rules, SymIdx, SymbolProps};
use llguidance::{Logger, Matcher};
use serde_json::Value;

use crate::failure::{on_large_stack, one_line, Failure};
use crate::language;
use crate::vocabulary::Vocabulary;

/// Address space, not memory.
const STACK_BYTES: usize = 64 << 20;
/// Ways in which a text may go on at one place: schemas that hold together leave many. About 50 ns each.
const MAX_ROW_ITEMS: usize = 10_000;
/// The same over all places that one mask looks at.
const MAX_MASK_ITEMS: usize = 400_000;

pub struct Limits {
    pub symbols: usize,
    pub compile_fuel: u64,
    pub step_fuel: u64,
}

pub struct Grammar {
    start: Matcher,
    entries: usize,
    end_ids: Vec<u32>,
}

pub struct Walk {
    matcher: Matcher,
    entries: usize,
    end_ids: Vec<u32>,
    /// End ids that were accepted; the matcher does not hear of them.
    ends: usize,
}

fn bad(message: &str) -> Failure {
    Failure::BadInput(message.into())
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::BadSource(one_line(&error.to_string()))
}

/// Symbols in the making: node i of the form is the symbol `nodes[i]`.
struct Builder {
    rules: Rules,
    lexer: LexerSpec,
    nodes: Vec<SymIdx>,
    props: SymbolProps,
    at_most: HashMap<(SymIdx, u64), SymIdx>,
    pairs: HashMap<SymIdx, SymIdx>,
}

impl Builder {
    fn fresh(&mut self) -> SymIdx {
        self.rules.fresh_symbol_ext("n", self.props.clone())
    }

    fn node(&self, value: &Value) -> Result<SymIdx, Failure> {
        let index = value.as_u64().ok_or_else(|| bad("a node's number is none"))? as usize;
        self.nodes.get(index).copied().ok_or_else(|| bad("a node's number is too large"))
    }

    fn node_list(&self, value: &Value) -> Result<Vec<SymIdx>, Failure> {
        let items = value.as_array().ok_or_else(|| bad("a list of nodes is no array"))?;
        items.iter().map(|item| self.node(item)).collect()
    }

    fn add(&mut self, left: SymIdx, right: Vec<SymIdx>) -> Result<(), Failure> {
        self.rules.add_rule(left, right).map_err(refused)
    }

    fn sequence(&mut self, parts: Vec<SymIdx>) -> Result<SymIdx, Failure> {
        let symbol = self.fresh();
        self.add(symbol, parts)?;
        Ok(symbol)
    }

    /// Exactly `count` times, in as many rules as the number has bits.
    fn exactly(&mut self, item: SymIdx, count: u64) -> Result<SymIdx, Failure> {
        match count {
            0 => self.sequence(vec![]),
            1 => Ok(item),
            _ => {
                let half = self.exactly(item, count / 2)?;
                let mut parts = vec![half, half];
                if count % 2 == 1 {
                    parts.push(item);
                }
                self.sequence(parts)
            }
        }
    }

    /// At most `count` times, in about as many rules as the number has bits; each number of times can be read in one
    /// way only, so that the parser's rows stay short.
    fn at_most(&mut self, item: SymIdx, count: u64) -> Result<SymIdx, Failure> {
        if let Some(known) = self.at_most.get(&(item, count)) {
            return Ok(*known);
        }
        let symbol = self.fresh();
        if count < 2 {
            self.add(symbol, vec![])?;
            if count == 1 {
                self.add(symbol, vec![item])?;
            }
        } else {
            // An even number of times is some pairs, an odd one an item and some pairs.
            let pair = match self.pairs.get(&item) {
                Some(known) => *known,
                None => self.sequence(vec![item, item])?,
            };
            self.pairs.insert(item, pair);
            let even = self.at_most(pair, count / 2)?;
            let odd = self.at_most(pair, (count - 1) / 2)?;
            self.add(symbol, vec![even])?;
            self.add(symbol, vec![item, odd])?;
        }
        self.at_most.insert((item, count), symbol);
        Ok(symbol)
    }

    fn repeat(&mut self, symbol: SymIdx, what: &Value) -> Result<(), Failure> {
        let parts = what.as_array().filter(|a| a.len() == 3).ok_or_else(|| bad("repeat wants three"))?;
        let item = self.node(&parts[0])?;
        let least = parts[1].as_u64().ok_or_else(|| bad("repeat wants a number"))?;
        let head = self.exactly(item, least)?;
        let tail = match parts[2].as_u64() {
            Some(most) => self.at_most(item, most.saturating_sub(least))?,
            None => {
                let star = self.fresh();
                self.add(star, vec![])?;
                self.add(star, vec![star, item])?;
                star
            }
        };
        self.add(symbol, vec![head, tail])
    }

    fn define(&mut self, symbol: SymIdx, node: &Value) -> Result<(), Failure> {
        let members = node.as_object().ok_or_else(|| bad("a node is no object"))?;
        let (kind, what) = members.iter().next().ok_or_else(|| bad("a node is empty"))?;
        match kind.as_str() {
            "lexeme" => {
                let ast = language::read(what)?;
                let lexeme = self
                    .lexer
                    .add_greedy_lexeme(String::new(), ast, false, None, usize::MAX)
                    .map_err(refused)?;
                let lexer = &self.lexer;
                self.rules.make_terminal(symbol, lexeme, lexer).map_err(refused)
            }
            "seq" => {
                let parts = self.node_list(what)?;
                self.add(symbol, parts)
            }
            "any" => {
                for option in self.node_list(what)? {
                    self.add(symbol, vec![option])?;
                }
                Ok(())
            }
            "repeat" => self.repeat(symbol, what),
            _ => Err(bad("a node is of an unknown kind")),
        }
    }
}

/// {"skip": language or null, "start": number, "nodes": [node, ...]}
fn read_form(text: &str, limits: &Limits) -> Result<GrammarInit, Failure> {
    let form: Value = serde_json::from_str(text).map_err(|error| bad(&error.to_string()))?;
    let nodes = form["nodes"].as_array().ok_or_else(|| bad("there are no nodes"))?;
    if nodes.len() > limits.symbols {
        return Err(Failure::Limit(format!(
            "the grammar has {} symbols, at most {} are allowed",
            nodes.len(),
            limits.symbols
        )));
    }
    let mut lexer = LexerSpec::new().map_err(refused)?;
    lexer.regex_builder.unicode(true);
    lexer.regex_builder.utf8(true);
    let skip = if form["skip"].is_null() { RegexAst::NoMatch } else { language::read(&form["skip"])? };
    let class = lexer.setup_lexeme_class_with_skip(SkipSpec::once(skip)).map_err(refused)?;
    let props = SymbolProps { grammar_id: class, ..Default::default() };
    let mut rules = Rules::new(None);
    let start = rules.fresh_symbol_ext("start", props.clone());
    rules.sym_props_mut(start).is_start = true;
    let mut builder = Builder {
        rules,
        lexer,
        nodes: vec![],
        props,
        at_most: HashMap::new(),
        pairs: HashMap::new(),
    };
    builder.nodes = (0..nodes.len()).map(|_| builder.fresh()).collect();
    for (index, node) in nodes.iter().enumerate() {
        builder.define(builder.nodes[index], node)?;
        if builder.rules.num_symbols() > limits.symbols || builder.lexer.cost() > limits.compile_fuel {
            return Err(Failure::Limit("the grammar is larger than the limit".into()));
        }
    }
    let root = builder.node(&form["start"])?;
    builder.add(start, vec![root])?;
    Ok(GrammarInit::Internal(builder.rules, builder.lexer))
}

impl Grammar {
    pub fn compile(
        vocabulary: &Vocabulary,
        is_lark: bool,
        text: &str,
        limits: &Limits,
    ) -> Result<Grammar, Failure> {
        on_large_stack(STACK_BYTES, || {
            let init = if is_lark {
                GrammarInit::Serialized(TopLevelGrammar::from_lark(text.to_string()))
            } else {
                read_form(text, limits)?
            };
            let factory = &vocabulary.factory;
            let mut parser_limits = factory.limits().clone();
            parser_limits.max_grammar_size = limits.symbols;
            parser_limits.max_items_in_row = MAX_ROW_ITEMS;
            parser_limits.step_max_items = MAX_MASK_ITEMS;
            parser_limits.initial_lexer_fuel = limits.compile_fuel;
            parser_limits.step_lexer_fuel = limits.step_fuel;
            let capabilities =
                llguidance::toktrie::InferenceCapabilities { ff_tokens: true, ..Default::default() };
            let parser = factory
                .create_parser_from_init_ext(init, Logger::new(0, 0), capabilities, parser_limits)
                .map_err(refused)?;
            let start = Matcher::new(Ok(parser));
            if let Some(error) = start.get_error() {
                return Err(refused(error));
            }
            let end_ids = factory.tok_env().tok_trie().eos_tokens().to_vec();
            Ok(Grammar { start, entries: vocabulary.entries, end_ids })
        })
    }

    pub fn walk(&self) -> Walk {
        Walk {
            matcher: self.start.deep_clone(),
            entries: self.entries,
            end_ids: self.end_ids.clone(),
            ends: 0,
        }
    }
}

impl Walk {
    pub fn copy(&self) -> Walk {
        Walk {
            matcher: self.matcher.deep_clone(),
            entries: self.entries,
            end_ids: self.end_ids.clone(),
            ends: self.ends,
        }
    }

    /// Bit i of `words`: id i may follow.
    pub fn mask(&mut self, words: &mut [u64]) -> Result<(), Failure> {
        if words.len() * 64 < self.entries {
            return Err(bad("the mask is too short"));
        }
        words.fill(0);
        if self.ends > 0 {
            return Ok(());
        }
        let allowed = self.matcher.compute_mask_or_eos().map_err(refused)?;
        for (index, half) in allowed.as_slice().iter().enumerate() {
            let Some(word) = words.get_mut(index / 2) else { break };
            *word |= u64::from(*half) << (32 * (index % 2));
        }
        Ok(())
    }

    /// False when the id may not follow; nothing has changed then.
    pub fn accept(&mut self, id: u32) -> Result<bool, Failure> {
        if self.ends > 0 || id as usize >= self.entries {
            return Ok(false);
        }
        if self.end_ids.contains(&id) {
            let may_end = self.is_complete();
            self.ends += usize::from(may_end);
            return Ok(may_end);
        }
        if self.matcher.validate_tokens(&[id]).map_err(refused)? == 0 {
            return Ok(false);
        }
        self.matcher.consume_token(id).map_err(refused)?;
        Ok(true)
    }

    /// Ids that are the only way on, in their order; empty: there is a choice, or nothing follows.
    pub fn forced(&mut self) -> Vec<u32> {
        if self.ends > 0 || self.matcher.is_stopped() {
            return vec![];
        }
        self.matcher.compute_ff_tokens()
    }

    pub fn rollback(&mut self, tokens: usize) -> Result<(), Failure> {
        let ends = tokens.min(self.ends);
        self.ends -= ends;
        if tokens == ends {
            return Ok(());
        }
        self.matcher.rollback(tokens - ends).map_err(refused)
    }

    pub fn is_complete(&mut self) -> bool {
        if self.matcher.is_stopped() {
            return self.matcher.stop_reason().is_ok();
        }
        self.matcher.is_accepting().unwrap_or(false)
    }
}
