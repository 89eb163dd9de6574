// SPDX-License-Identifier: Apache-2.0
// The fields of a generating request: one table says of each whether it is read, has no effect, or
// is refused, and one reader takes values out of the body and names the field that is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace pawl::server {

enum class Route : uint8_t { kChat = 1, kCompletion = 2, kEmbeddings = 4 };

enum class Handling {
  kRead,      // does what the API says
  kNoEffect,  // accepted with any value: by its definition it does not change the answer
  kRefused,   // only null and the values in `neutral` are accepted, as they ask for nothing
};

struct FieldRow {
  std::string_view name;
  uint8_t routes;  // Route bits
  Handling handling;
  std::string_view neutral;  // a JSON array, for kRefused; empty: none
  std::string_view note;     // for docs/server.md and the message
};

std::span<const FieldRow> field_table();

// Refuses a field that is not in the table or the policy's knobs, and one that cannot be done.
// Error kInvalidArgument or kUnsupported, naming the field.
base::Result<void> check_fields(const base::Json& body, Route route);

// Reads members of an object; null counts as absent. Errors kInvalidArgument with the field's name
// as `where`. The object outlives the reader.
class FieldReader {
 public:
  explicit FieldReader(const base::Json& object, std::string prefix = {})
      : object_(object), prefix_(std::move(prefix)) {}

  const base::Json* find(std::string_view name) const;  // null: absent
  base::Result<std::optional<int64_t>> integer(std::string_view name, int64_t minimum,
                                               int64_t maximum) const;
  base::Result<std::optional<double>> number(std::string_view name, double minimum,
                                             double maximum) const;
  base::Result<bool> boolean(std::string_view name, bool standard) const;
  base::Result<std::optional<std::string>> text(std::string_view name, size_t max_bytes) const;

  base::Error wrong(std::string_view name, std::string_view wanted) const;
  std::string path(std::string_view name) const { return prefix_ + std::string(name); }

 private:
  const base::Json& object_;
  std::string prefix_;
};

}  // namespace pawl::server
