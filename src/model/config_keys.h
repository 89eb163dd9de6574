// SPDX-License-Identifier: Apache-2.0
// The keys of one architecture in a file's metadata, with the range checks that every size needs.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gguf/metadata.h"

namespace pawl::model {

// More than any known model by a wide margin; bounds what a few bytes of metadata can make us
// allocate.
constexpr uint32_t kMaxDimension = 1u << 20;
constexpr uint32_t kMaxHeadDimension = 1024;

inline base::Error bad_key(const std::string& key, const std::string& message) {
  return base::Error{base::ErrorCode::kBadFile, "key '" + key + "': " + message, ""};
}

// Reads "<architecture>.<key>" with the range checks that every size needs.
class Keys {
 public:
  Keys(const gguf::Metadata& metadata, std::string_view architecture)
      : metadata_(metadata), prefix_(std::string(architecture) + ".") {}

  std::string name(std::string_view key) const { return prefix_ + std::string(key); }

  base::Result<int> size(std::string_view key, uint32_t limit = kMaxDimension) const {
    PAWL_TRY(const uint32_t value, metadata_.get_u32(name(key)));
    return checked(key, value, limit);
  }
  base::Result<int> size_or(std::string_view key, int fallback,
                            uint32_t limit = kMaxDimension) const {
    if (metadata_.find(name(key)) == nullptr) return fallback;
    return size(key, limit);
  }
  base::Result<float> number_or(std::string_view key, float fallback) const {
    PAWL_TRY(const float value, metadata_.get_f32_or(name(key), fallback));
    if (!std::isfinite(value)) return bad_key(name(key), "is not a finite number");
    return value;
  }
  base::Result<bool> flag_or(std::string_view key, bool fallback) const {
    return metadata_.get_bool_or(name(key), fallback);
  }
  base::Result<int> checked(std::string_view key, uint32_t value, uint32_t limit) const {
    if (value == 0 || value > limit) {
      return bad_key(name(key), std::to_string(value) + " is outside 1 … " + std::to_string(limit));
    }
    return static_cast<int>(value);
  }

  const gguf::Metadata& metadata() const { return metadata_; }

 private:
  const gguf::Metadata& metadata_;
  std::string prefix_;
};

}  // namespace pawl::model
