// SPDX-License-Identifier: Apache-2.0
// The reader is the library's event interface feeding our value, so that depth is limited while
// parsing; the writer is ours.
#include "base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace pawl::base {
namespace {

// Receives the library's events and builds the value on an explicit stack: no recursion.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(int depth_limit) : depth_limit_(depth_limit) {}

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(uint64_t{value})); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!std::isfinite(value)) return fail("number " + text.substr(0, 40) + " is out of range");
    return add(Json(value));
  }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return fail("binary value"); }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!stack_.back().seen.insert(name).second) {
      return fail("key '" + name.substr(0, 80) + "' stands twice in one object");
    }
    stack_.back().members.push_back({std::move(name), Json()});
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override {
    if (error.id == 406) return fail("number " + last_token.substr(0, 40) + " is out of range");
    return fail(fmt::format("not JSON at byte {}", position));
  }

  Result<Json> take() {
    if (!failure_.empty()) return Error{ErrorCode::kBadFile, failure_, ""};
    return std::move(root_);
  }
  bool has_failed() const { return !failure_.empty(); }
  void set_failure(std::string what) { failure_ = std::move(what); }

 private:
  struct Open {
    bool is_object;
    Json::Array items;
    Json::Object members;                  // the last one waits for its value
    std::unordered_set<std::string> seen;  // a search per key would be quadratic
  };

  bool fail(std::string what) {
    failure_ = std::move(what);
    return false;
  }

  bool open(bool is_object) {
    if (static_cast<int>(stack_.size()) >= depth_limit_) {
      return fail(fmt::format("nested deeper than {}", depth_limit_));
    }
    stack_.push_back({is_object, {}, {}, {}});
    return true;
  }

  bool close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    return add(done.is_object ? Json::object_of(std::move(done.members))
                              : Json::array_of(std::move(done.items)));
  }

  bool add(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (stack_.back().is_object) {
      stack_.back().members.back().value = std::move(value);
    } else {
      stack_.back().items.push_back(std::move(value));
    }
    return true;
  }

  int depth_limit_;
  std::vector<Open> stack_;
  Json root_;
  std::string failure_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("JSON of {} bytes, the limit is {}", text.size(), limits.bytes), ""};
  }
  TreeBuilder builder(limits.depth);
  try {
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const nlohmann::json::exception&) {
    if (!builder.has_failed()) builder.set_failure("not JSON");
  }
  return builder.take();
}

}  // namespace pawl::base
