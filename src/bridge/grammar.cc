// SPDX-License-Identifier: Apache-2.0
#include "bridge/grammar.h"

#include <algorithm>

#include "bridge/text.h"

namespace pawl::bridge {

using base::Result;

namespace {

// More than a grammar forces at once; the rest is forced next time.
constexpr size_t kMaxForced = 4096;

constexpr std::string_view kWhere = "grammar";

}  // namespace

void Walk::Free::operator()(pawl_walk* walk) const {
  pawl_walk_free(walk);
}

void Grammar::Free::operator()(pawl_grammar* grammar) const {
  pawl_grammar_free(grammar);
}

Result<void> Walk::fill_mask(std::span<uint64_t> words) {
  pawl_text message{};
  const int32_t status = pawl_walk_mask(walk_.get(), words.data(), words.size(), &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(text), kWhere);
  return {};
}

Result<bool> Walk::accept(base::TokenId id) {
  if (id < 0) return false;
  pawl_text message{};
  int32_t accepted = 0;
  const int32_t status =
      pawl_walk_accept(walk_.get(), static_cast<uint32_t>(id), &accepted, &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(text), kWhere);
  return accepted != 0;
}

std::vector<base::TokenId> Walk::forced() {
  std::vector<uint32_t> ids(kMaxForced);
  size_t count = 0;
  if (pawl_walk_forced(walk_.get(), ids.data(), ids.size(), &count) != PAWL_BRIDGE_OK) return {};
  std::vector<base::TokenId> forced(count);
  std::transform(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), forced.begin(),
                 [](uint32_t id) { return static_cast<base::TokenId>(id); });
  return forced;
}

Result<void> Walk::rollback(int64_t tokens) {
  pawl_text message{};
  const int32_t status = pawl_walk_rollback(walk_.get(), static_cast<size_t>(tokens), &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(text), kWhere);
  return {};
}

bool Walk::is_complete() const {
  return pawl_walk_is_complete(walk_.get()) != 0;
}

Result<Walk> Walk::copy() const {
  pawl_walk* made = nullptr;
  pawl_text message{};
  const int32_t status = pawl_walk_copy(walk_.get(), &made, &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(text), kWhere);
  return Walk(made, vocabulary_);
}

Result<std::shared_ptr<const Grammar>> Grammar::compile(
    std::shared_ptr<const Vocabulary> vocabulary, Source source, std::string_view text,
    const GrammarLimits& limits) {
  const pawl_grammar_limits border{limits.symbols, limits.compile_fuel, limits.step_fuel};
  pawl_grammar* compiled = nullptr;
  pawl_text message{};
  const int32_t status =
      pawl_grammar_compile(vocabulary->get(), source == Source::kLark ? 1 : 0, text.data(),
                           text.size(), &border, &compiled, &message);
  std::string what = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(what), kWhere);
  return std::shared_ptr<const Grammar>(new Grammar(compiled, std::move(vocabulary)));
}

Result<Walk> Grammar::walk() const {
  pawl_walk* made = nullptr;
  pawl_text message{};
  const int32_t status = pawl_walk_create(grammar_.get(), &made, &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(text), kWhere);
  return Walk(made, vocabulary_);
}

Result<std::optional<bool>> language_is_empty(std::string_view language, uint64_t fuel) {
  int32_t answer = -1;
  pawl_text message{};
  const int32_t status =
      pawl_language_is_empty(language.data(), language.size(), fuel, &answer, &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(text), "language");
  if (answer < 0) return std::optional<bool>();
  return std::optional<bool>(answer == 1);
}

}  // namespace pawl::bridge
