// SPDX-License-Identifier: Apache-2.0
#include "text/stream_decoder.h"

#include "base/utf8.h"

namespace pawl::text {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, Options options)
    : tokenizer_(&tokenizer), options_(options) {
  pending_.reserve(tokenizer.vocab().max_text_bytes() + 4);
}

void StreamDecoder::push(TokenId id, std::string& out) {
  tokenizer_->append_piece(id, options_.special, pending_);
  const bool drop_space =
      is_first_ && options_.begins_text && tokenizer_->vocab().add_space_prefix();
  is_first_ = false;
  if (drop_space && pending_.starts_with(' ')) pending_.erase(0, 1);
  const size_t printable = pending_.size() - base::utf8_incomplete_tail(pending_);
  base::append_valid_utf8(std::string_view(pending_).substr(0, printable), out);
  pending_.erase(0, printable);
}

void StreamDecoder::flush(std::string& out) {
  base::append_valid_utf8(pending_, out);
  pending_.clear();
  is_first_ = true;
}

}  // namespace pawl::text
