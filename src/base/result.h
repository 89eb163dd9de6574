// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error that names the offender. What can fail says so in its signature;
// nothing of ours throws.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace pawl::base {

// One list for the whole product: cli/exit_status.cc maps it to the exit status.
enum class ErrorCode {
  kInvalidArgument,  // the caller asked for something that has no meaning: a flag, a request field
  kBadFile,          // foreign bytes that break their format
  kUnsupported,      // well formed, and nothing here can do it
  kNotFound,         // a file, a model or a name that is not there
  kOutOfMemory,      // memory that could not be had; the message says how many bytes
  kIo,               // the file system failed
  kNetwork,          // a connection, a download or a peer failed
  kCancelled,        // stopped because somebody asked for it
  kOverloaded,       // a bound on what may wait is reached; later it may be accepted
  kUnavailable,      // nothing is accepted any more: it is being shut down
};

// The snake_case name of a code, as it stands in JSON.
std::string_view error_code_name(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code;
  std::string message;  // names the offender and the limit; no full stop, one line
  std::string where;    // file, key, field or flag; may be empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok()
  T& value() & {
    PAWL_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    PAWL_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    PAWL_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !ok()
  Error& error() & {
    PAWL_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const& {
    PAWL_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    PAWL_CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

// A call that gives nothing but success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const { PAWL_CHECK(ok()); }

  // REQUIRES: !ok()
  Error& error() & {
    PAWL_CHECK(!ok());
    return *error_;
  }
  const Error& error() const& {
    PAWL_CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    PAWL_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace pawl::base

#define PAWL_CONCAT_INNER(a, b) a##b
#define PAWL_CONCAT(a, b) PAWL_CONCAT_INNER(a, b)

// PAWL_TRY(auto meta, read_metadata(bytes));  declares `meta`, or returns the error to the caller.
#define PAWL_TRY(declaration, expression)                       \
  auto PAWL_CONCAT(pawl_try_, __LINE__) = (expression);         \
  if (!PAWL_CONCAT(pawl_try_, __LINE__).ok())                   \
    return std::move(PAWL_CONCAT(pawl_try_, __LINE__)).error(); \
  declaration = std::move(PAWL_CONCAT(pawl_try_, __LINE__)).value()

// The same for a Result<void>, or where the value does not matter.
#define PAWL_TRY_VOID(expression)                                     \
  do {                                                                \
    auto pawl_try_void = (expression);                                \
    if (!pawl_try_void.ok()) return std::move(pawl_try_void).error(); \
  } while (false)
