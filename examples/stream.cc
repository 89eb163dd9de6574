// SPDX-License-Identifier: Apache-2.0
// A generation as it comes, and how to end it: a callback prints each piece of text, and a stop
// source, which any thread may use, ends it after so many pieces. What was generated stands.
//
//   stream MODEL.gguf "Once upon a time" 40
#include <pawl/pawl.h>

#include <cstdio>
#include <cstdlib>

static int fail(const pawl::Error& error) {
  std::fprintf(stderr, "stream: %s\n", error.message.c_str());
  return 1;
}

int main(int count, char** words) {
  if (count != 4) return fail({"usage: stream MODEL.gguf PROMPT PIECES"});
  auto model = pawl::Model::open(words[1]);
  if (!model) return fail(model.error());
  const auto prompt = model->tokenize(words[2]);
  if (!prompt) return fail(prompt.error());

  std::stop_source source;
  int left = std::atoi(words[3]);
  const pawl::GenerateOptions options{.sampling = {.temperature = 0.8, .top_p = 0.95, .seed = 7},
                                      .max_tokens = 100000,
                                      .stop = source.get_token()};
  const auto completion = model->generate(*prompt, options, [&](const pawl::Piece& piece) {
    std::printf("%.*s", static_cast<int>(piece.text.size()), piece.text.data());
    std::fflush(stdout);
    if (--left <= 0) source.request_stop();
  });
  if (!completion) return fail(completion.error());
  std::printf("\n[%zu tokens, %s]\n", completion->tokens.size(), completion->finish_reason.c_str());
  return 0;
}
