/* SPDX-License-Identifier: Apache-2.0
 * The border to the Rust library: plain C, sizes in bytes, texts in UTF-8. The C++ side of it is template.h,
 * vocabulary.h, grammar.h and validator.h; nothing else calls these functions.
 *
 * Ownership: arguments are only read during the call. What comes back in a pawl_text is made by the library and goes
 * back to it with pawl_text_free, never to free(); the same for every other thing that a call makes. No panic crosses
 * the border: it comes back as PAWL_BRIDGE_PANIC.
 * Threads: all but a pawl_walk are immutable, for any number of threads at once; a walk is one thread's at a time.
 */
#ifndef PAWL_BRIDGE_BRIDGE_H_
#define PAWL_BRIDGE_BRIDGE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. With all but OK the text is a message of one line. */
enum {
  PAWL_BRIDGE_OK = 0,
  PAWL_BRIDGE_BAD_SOURCE = 1,   /* a template, grammar or schema: its syntax, or what it does with what it was given */
  PAWL_BRIDGE_RAISED = 2,       /* it called raise_exception: the text is its own */
  PAWL_BRIDGE_LIMIT = 3,        /* it worked or wrote more than allowed */
  PAWL_BRIDGE_BAD_INPUT = 4,    /* the caller's bytes: no UTF-8, no JSON object */
  PAWL_BRIDGE_PANIC = 5         /* a mistake in the library */
};

typedef struct pawl_template pawl_template;

typedef struct {
  char* data; /* not ended by 0; null when size is 0 */
  size_t size;
} pawl_text;

typedef struct {
  uint64_t fuel;         /* one pays for an instruction or for 64 bytes made */
  uint64_t output_bytes; /* of the rendered text */
  int64_t local_seconds; /* for strftime_now: seconds since 1970, shifted to local time */
} pawl_template_limits;

/* A Jinja template. On OK *compiled is set and *message is empty. */
int32_t pawl_template_compile(const char* source, size_t source_size, pawl_template** compiled, pawl_text* message);

/* The template with the members of a JSON object as its variables. *text: what it renders, or a message. */
int32_t pawl_template_render(const pawl_template* compiled, const char* variables, size_t variables_size,
                             const pawl_template_limits* limits, pawl_text* text);

void pawl_template_free(pawl_template* compiled); /* null is allowed, here and below */

/* A model's entries: what each id appends to a text. */
typedef struct pawl_vocabulary pawl_vocabulary;

typedef struct {
  const char* bytes;     /* of all entries, one behind the other; an empty one is never part of a text */
  const uint64_t* ends;  /* [entries]: where each ends in `bytes`, ascending */
  size_t entries;
  const uint32_t* end_ids; /* [end_id_count], at least one: they end a text, whatever their bytes */
  size_t end_id_count;
  /* The ids that the model's tokenizer makes of a text in the middle of another one. More of them than `capacity`:
   * nothing is written. Null: entries are taken from the left, the longest first. It may be called by any thread. */
  size_t (*tokenize)(const void* user, const char* text, size_t size, uint32_t* ids, size_t capacity);
  const void* user; /* lives as long as the vocabulary and the grammars made with it */
} pawl_vocabulary_source;

int32_t pawl_vocabulary_create(const pawl_vocabulary_source* source, pawl_vocabulary** made, pawl_text* message);
void pawl_vocabulary_free(pawl_vocabulary* vocabulary);

/* A grammar is Lark as llguidance reads it, or JSON:
 *   {"skip": language or null, "start": i, "nodes": [node, ...]}
 * skip: what may stand between two lexemes, once. A node is an object of one member; i, j count nodes from 0:
 *   {"lexeme": language}     the longest text of the language
 *   {"seq": [i, ...]}        one after the other, or nothing
 *   {"any": [i, ...]}        one of them
 *   {"repeat": [i, n, m]}    n to m times; m null: no limit
 * A language is an object of one member:
 *   {"literal": text} {"regex": expression} {"and": [l, ...]} {"or": [l, ...]} {"not": l} {"concat": [l, ...]}
 *   {"repeat": [l, n, m]}    as above
 *   {"quote": l}             its texts as JSON strings
 *   {"multiple": [c, e]}     decimals without sign that are a multiple of c * 10^-e
 */
typedef struct pawl_grammar pawl_grammar;

typedef struct {
  uint64_t symbols;      /* of the grammar */
  uint64_t compile_fuel; /* about 50,000 a millisecond */
  uint64_t step_fuel;    /* of one mask; about 14,000 a millisecond */
} pawl_grammar_limits;

int32_t pawl_grammar_compile(const pawl_vocabulary* vocabulary, int32_t is_lark, const char* source,
                             size_t source_size, const pawl_grammar_limits* limits, pawl_grammar** compiled,
                             pawl_text* message);
void pawl_grammar_free(pawl_grammar* grammar);

/* *answer: 1 when no text belongs to the language, 0 when one does, -1 when `fuel` did not suffice to tell. */
int32_t pawl_language_is_empty(const char* source, size_t source_size, uint64_t fuel, int32_t* answer,
                               pawl_text* message);

/* A text under way through a grammar. It keeps what it needs of grammar and vocabulary alive. */
typedef struct pawl_walk pawl_walk;

int32_t pawl_walk_create(const pawl_grammar* grammar, pawl_walk** made, pawl_text* message);
int32_t pawl_walk_copy(const pawl_walk* walk, pawl_walk** made, pawl_text* message);
void pawl_walk_free(pawl_walk* walk);
/* Bit i of the words: id i may follow. REQUIRES: count >= ceil(entries / 64) */
int32_t pawl_walk_mask(pawl_walk* walk, uint64_t* words, size_t count, pawl_text* message);
/* *accepted 0: the id may not follow, and nothing has changed. */
int32_t pawl_walk_accept(pawl_walk* walk, uint32_t id, int32_t* accepted, pawl_text* message);
/* Ids that are the only way on, at most `capacity` of them. */
int32_t pawl_walk_forced(pawl_walk* walk, uint32_t* ids, size_t capacity, size_t* count);
/* REQUIRES: so many ids were accepted */
int32_t pawl_walk_rollback(pawl_walk* walk, size_t tokens, pawl_text* message);
int32_t pawl_walk_is_complete(pawl_walk* walk); /* 1: the text may end here */

/* JSON Schema as a judge. draft: 4, 6, 7, 2019 or 2020, for a schema that does not name one. */
typedef struct pawl_validator pawl_validator;

int32_t pawl_validator_compile(const char* schema, size_t schema_size, int32_t draft, int32_t checks_formats,
                               pawl_validator** compiled, pawl_text* message);
/* On OK *message is empty where the instance is valid; else it says what is wrong, and where. */
int32_t pawl_validator_check(const pawl_validator* validator, const char* instance, size_t instance_size,
                             pawl_text* message);
void pawl_validator_free(pawl_validator* validator);

void pawl_text_free(pawl_text text);

#ifdef __cplusplus
}
#endif

#endif
