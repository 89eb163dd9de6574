// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include <utility>

#include "base/utf8.h"
#include "text/bpe.h"
#include "text/chat_template.h"
#include "text/merge_table.h"
#include "text/pretokenizer.h"
#include "text/spm.h"
#include "text/unigram.h"
#include "text/vocab_file.h"
#include "text/wordpiece.h"

namespace pawl::text {
namespace {

using base::Error;
using base::ErrorCode;

constexpr const char* kModelKey = "tokenizer.ggml.model";
constexpr const char* kPreKey = "tokenizer.ggml.pre";

// Positions are 32 bits, also where each space has become the three bytes of U+2581.
constexpr size_t kMaxTextBytes = (size_t{1} << 30) - 1;

// Texts that are looked for in every input become nodes, many times their size.
constexpr size_t kMaxSpecialBytes = 1 << 20;

base::Result<void> check_special_texts(const Vocab& vocab) {
  size_t bytes = 0;
  for (size_t entry = 0; entry < vocab.size(); ++entry) {
    const TokenId id = static_cast<TokenId>(entry);
    const TokenType type = vocab.type(id);
    if (type != TokenType::kUserDefined && type != TokenType::kControl &&
        type != TokenType::kUnknown) {
      continue;
    }
    bytes += vocab.text(id).size();
    if (bytes > kMaxSpecialBytes) {
      return Error{ErrorCode::kUnsupported,
                   "special tokens of more than " + std::to_string(kMaxSpecialBytes) +
                       " bytes in all, at entry " + std::to_string(id),
                   "tokenizer.ggml.tokens"};
    }
  }
  return {};
}

base::Result<std::unique_ptr<Tokenizer>> create_spm(const gguf::Metadata& metadata) {
  const VocabDefaults defaults{
      .add_bos = true, .add_space_prefix = true, .needs_scores = true, .bos = "<s>", .eos = "</s>"};
  PAWL_TRY(VocabSource source, read_vocab(metadata, defaults));
  PAWL_TRY(Vocab vocab, Vocab::create(std::move(source)));
  PAWL_TRY_VOID(check_special_texts(vocab));
  PAWL_TRY(std::unique_ptr<Tokenizer> tokenizer, SpmTokenizer::create(std::move(vocab)));
  return tokenizer;
}

// The compiled table is an array of bytes, signed ones in some files.
base::Result<CharMap> read_char_map(const gguf::Metadata& metadata) {
  const char* key = "tokenizer.ggml.precompiled_charsmap";
  const gguf::Value* value = metadata.find(key);
  if (value == nullptr) return CharMap();
  const bool is_bytes =
      value->type == gguf::ValueType::kArray &&
      (value->element == gguf::ValueType::kUint8 || value->element == gguf::ValueType::kInt8);
  if (is_bytes) return CharMap::create(value->payload);
  return Error{ErrorCode::kBadFile, std::string(key) + ": is not an array of bytes", key};
}

base::Result<std::unique_ptr<Tokenizer>> create_unigram(const gguf::Metadata& metadata) {
  const VocabDefaults defaults{
      .add_space_prefix = true, .needs_scores = true, .bos = {}, .eos = "</s>"};
  PAWL_TRY(VocabSource source, read_vocab(metadata, defaults));
  PAWL_TRY(Vocab vocab, Vocab::create(std::move(source)));
  PAWL_TRY_VOID(check_special_texts(vocab));
  PAWL_TRY(CharMap char_map, read_char_map(metadata));
  PAWL_TRY(std::unique_ptr<Tokenizer> tokenizer,
           UnigramTokenizer::create(std::move(vocab), std::move(char_map)));
  return tokenizer;
}

base::Result<std::unique_ptr<Tokenizer>> create_wordpiece(const gguf::Metadata& metadata) {
  const VocabDefaults defaults{.add_bos = true, .bos = "[CLS]", .eos = "[SEP]"};
  PAWL_TRY(VocabSource source, read_vocab(metadata, defaults));
  PAWL_TRY(source.add_eos,
           metadata.get_bool_or("tokenizer.ggml.add_eos_token", source.special.eos != kNoToken));
  source.add_space_prefix = false;
  CharacterFolding folding;
  PAWL_TRY(folding.lowers, metadata.get_bool_or("tokenizer.ggml.normalizer.lowercase", true));
  PAWL_TRY(folding.strips_marks,
           metadata.get_bool_or("tokenizer.ggml.normalizer.strip_accents", folding.lowers));
  PAWL_TRY(Vocab vocab, Vocab::create(std::move(source)));
  PAWL_TRY_VOID(check_special_texts(vocab));
  PAWL_TRY(std::unique_ptr<Tokenizer> tokenizer,
           WordPieceTokenizer::create(std::move(vocab), folding));
  return tokenizer;
}

base::Result<const PretokenizerRow*> choose_row(const gguf::Metadata& metadata,
                                                std::string_view chosen,
                                                std::vector<std::string>& warnings) {
  if (!chosen.empty()) {
    const PretokenizerRow* row = find_pretokenizer(chosen);
    if (row != nullptr) return row;
    return Error{ErrorCode::kInvalidArgument,
                 "pre-tokenizer " + base::quoted_text(chosen) +
                     " is not known, these are: " + pretokenizer_names(),
                 "--pre"};
  }
  if (metadata.find(kPreKey) == nullptr) {
    warnings.push_back(
        std::string(kPreKey) +
        " is missing: 'default' is used, and numbers and blanks may be cut otherwise "
        "than the model was trained with");
    return find_pretokenizer("default");
  }
  PAWL_TRY(const std::string_view name, metadata.get_string(kPreKey));
  const PretokenizerRow* row = find_pretokenizer(name);
  if (row != nullptr) return row;
  if (merges_characters(name)) {
    return Error{ErrorCode::kUnsupported,
                 std::string(kPreKey) + ": " + base::quoted_text(name) +
                     " merges characters instead of bytes, which is not supported",
                 kPreKey};
  }
  return Error{
      ErrorCode::kUnsupported,
      std::string(kPreKey) + ": " + base::quoted_text(name) +
          " is not supported; where it cuts as one of these does, --pre NAME takes that: " +
          pretokenizer_names(),
      kPreKey};
}

base::Result<std::unique_ptr<Tokenizer>> create_bpe(const gguf::Metadata& metadata,
                                                    std::string_view pretokenizer,
                                                    std::vector<std::string>& warnings) {
  PAWL_TRY(const PretokenizerRow* row, choose_row(metadata, pretokenizer, warnings));
  VocabDefaults defaults;
  defaults.add_bos = row->adds_bos;
  PAWL_TRY(VocabSource source, read_vocab(metadata, defaults));
  source.add_space_prefix = false;  // byte-level texts carry their spaces
  PAWL_TRY(Vocab vocab, Vocab::create(std::move(source)));
  PAWL_TRY_VOID(check_special_texts(vocab));
  PAWL_TRY(const gguf::StringArray merges, metadata.get_string_array("tokenizer.ggml.merges"));
  PAWL_TRY(MergeTable table, MergeTable::create(merges, vocab));
  PAWL_TRY(Pretokenizer words, Pretokenizer::create(*row));
  PAWL_TRY(std::unique_ptr<Tokenizer> tokenizer,
           BpeTokenizer::create(std::move(vocab), std::move(table), std::move(words)));
  return tokenizer;
}

// The control token that the file's own chat template closes an answer with: a generation ends
// there whatever the file calls its end token. A template that cannot be read names none; who chats
// with it hears why.
void add_end_of_template(const gguf::Metadata& metadata, Vocab& vocab) {
  const auto chat = ChatTemplate::of_model(metadata, vocab);
  if (chat.ok() && chat->turn_end()) vocab.add_end(*chat->turn_end());
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> Tokenizer::create(std::shared_ptr<const gguf::File> file,
                                                           std::string_view pretokenizer) {
  const gguf::Metadata& metadata = file->metadata();
  PAWL_TRY(const std::string_view model, metadata.get_string(kModelKey));
  std::vector<std::string> warnings;
  if (model != "llama" && model != "gpt2" && model != "t5" && model != "bert") {
    return Error{ErrorCode::kUnsupported,
                 std::string(kModelKey) + ": " + base::quoted_text(model) +
                     " is not supported, these are: llama gpt2 t5 bert",
                 kModelKey};
  }
  if (model != "gpt2" && !pretokenizer.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "this model's tokenizer is of the kind " + base::quoted_text(model) +
                     ", which has no pre-tokenizer",
                 "--pre"};
  }
  PAWL_TRY(std::unique_ptr<Tokenizer> tokenizer,
           model == "llama"  ? create_spm(metadata)
           : model == "t5"   ? create_unigram(metadata)
           : model == "bert" ? create_wordpiece(metadata)
                             : create_bpe(metadata, pretokenizer, warnings));
  add_end_of_template(metadata, tokenizer->vocab_);
  tokenizer->warnings_ = std::move(warnings);
  tokenizer->file_ = std::move(file);
  return tokenizer;
}

Tokenizer::Tokenizer(Vocab vocab, UserTokens user_tokens) : vocab_(std::move(vocab)) {
  std::vector<SpecialTokens::Entry> user;
  std::vector<SpecialTokens::Entry> all;
  for (size_t entry = 0; entry < vocab_.size(); ++entry) {
    const TokenId id = static_cast<TokenId>(entry);
    const TokenType type = vocab_.type(id);
    const bool is_user = type == TokenType::kUserDefined && user_tokens == UserTokens::kSplitBefore;
    if (is_user) user.push_back({vocab_.text(id), id});
    if (is_user || type == TokenType::kControl || type == TokenType::kUnknown) {
      all.push_back({vocab_.text(id), id});
    }
  }
  user_tokens_.add_all(std::move(user));
  all_tokens_.add_all(std::move(all));
}

base::Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text,
                                                     EncodeOptions options) const {
  if (text.size() > kMaxTextBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 "text of " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(kMaxTextBytes) + " can be tokenized",
                 ""};
  }
  std::vector<TokenId> ids;
  if (options.add_bos && vocab_.add_bos()) ids.push_back(vocab_.special().bos);
  bool begins_words = true;
  const SpecialTokens& special = options.parse_special ? all_tokens_ : user_tokens_;
  for (const TextPiece& piece : special.split(text)) {
    begins_words = begins_words || piece.token != kNoToken;
    if (piece.token != kNoToken) {
      ids.push_back(piece.token);
      continue;
    }
    PAWL_TRY_VOID(
        encode_text(text.substr(piece.begin, piece.end - piece.begin), begins_words, ids));
    begins_words = false;
  }
  if (options.add_bos && vocab_.add_eos()) ids.push_back(vocab_.special().eos);
  return ids;
}

void Tokenizer::append_piece(TokenId id, bool special, std::string& out) const {
  switch (vocab_.type(id)) {
    case TokenType::kNormal:
    case TokenType::kByte:
      append_text(id, out);
      return;
    case TokenType::kUserDefined:
      out.append(vocab_.text(id));
      return;
    case TokenType::kUnknown:
    case TokenType::kControl:
      if (special) out.append(vocab_.text(id));
      return;
    case TokenType::kUndefined:
    case TokenType::kUnused:
      return;
  }
}

base::Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, bool special) const {
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    PAWL_TRY_VOID(vocab_.check(ids[i]));
    append_piece(ids[i], special, text);
    if (i == 0 && vocab_.add_space_prefix() && text.starts_with(' ')) text.erase(0, 1);
  }
  return text;
}

}  // namespace pawl::text
