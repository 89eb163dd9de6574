// SPDX-License-Identifier: Apache-2.0
// Greedy decoding by hand: a pass gives a row of logits, the largest is the next token, and the
// next pass is over that token alone, as the keys and values of all before it are kept. Prints the
// ids.
//
//   greedy MODEL.gguf "The sea is" 16
#include <pawl/pawl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

static int fail(const pawl::Error& error) {
  std::fprintf(stderr, "greedy: %s\n", error.message.c_str());
  return 1;
}

int main(int count, char** words) {
  if (count != 4) return fail({"usage: greedy MODEL.gguf PROMPT TOKENS"});
  auto model = pawl::Model::open(words[1]);
  if (!model) return fail(model.error());
  auto input = model->tokenize(words[2]);
  if (!input) return fail(input.error());
  auto sequence = model->begin();
  if (!sequence) return fail(sequence.error());

  for (int left = std::atoi(words[3]); left > 0; --left) {
    const auto row = sequence->pass(*input);
    if (!row) return fail(row.error());
    const auto largest = std::max_element(row->begin(), row->end());
    const auto next = static_cast<pawl::Token>(largest - row->begin());
    std::printf("%d\n", next);
    if (model->is_end(next)) break;
    *input = {next};
  }
  return 0;
}
