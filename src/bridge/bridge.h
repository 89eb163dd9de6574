/* SPDX-License-Identifier: Apache-2.0
 * The border to the Rust library: plain C, sizes in bytes, texts in UTF-8. The C++ side of it is template.h; nothing
 * else calls these functions.
 *
 * Ownership: arguments are only read during the call. What comes back in a pawl_text is made by the library and goes
 * back to it with pawl_text_free, never to free(); the same for a pawl_template. No panic crosses the border: it
 * comes back as PAWL_BRIDGE_PANIC.
 * Threads: a pawl_template is immutable; any number of threads may render it at once.
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
  PAWL_BRIDGE_BAD_TEMPLATE = 1, /* its syntax, or what it does with what it was given */
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

void pawl_template_free(pawl_template* compiled); /* null is allowed */
void pawl_text_free(pawl_text text);

#ifdef __cplusplus
}
#endif

#endif
