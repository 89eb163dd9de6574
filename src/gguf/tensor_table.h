// SPDX-License-Identifier: Apache-2.0
// Inside of gguf/: the tensor table of one file, read and checked. reader.h is what others include.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "gguf/cursor.h"
#include "gguf/reader.h"

namespace pawl::gguf {

// Reads `count` tensors at the cursor, which walks `file`. Data begins behind the table, at the
// next multiple of `alignment` (a power of two, at least 8). Errors name the tensor: a number of
// dimensions outside 1..4, a dimension of 0, rows that are no whole groups, an unknown type, bytes
// that overflow, data outside the file, at an offset that is not aligned, or over another tensor's.
// Names are unique in one file only.
base::Result<std::vector<TensorView>> read_tensor_table(Cursor& cursor, uint64_t count,
                                                        uint64_t alignment,
                                                        std::span<const std::byte> file);

// Indices of `tensors` sorted by name. Error when two have the same.
base::Result<std::vector<uint32_t>> index_by_name(std::span<const TensorView> tensors);

}  // namespace pawl::gguf
