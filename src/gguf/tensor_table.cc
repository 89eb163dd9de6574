// SPDX-License-Identifier: Apache-2.0
#include "gguf/tensor_table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

namespace pawl::gguf {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr uint64_t kMinRecordBytes = 8 + 1 + 4 + 8 + 4 + 8;  // a name of one letter, one dimension
constexpr uint32_t kMaxDims = 4;

Error bad(std::string message) {
  return Error{ErrorCode::kBadFile, std::move(message), ""};
}

Error bad(std::string_view tensor, const std::string& message) {
  return bad("tensor " + quoted(tensor) + ": " + message);
}

Error table_ends(uint64_t index) {
  return bad("the file ends inside tensor " + std::to_string(index) + " of the table");
}

struct Record {
  TensorView view;
  uint64_t offset;  // as stored: from the start of the data
};

Result<void> read_dims(Cursor& cursor, uint64_t index, TensorView& tensor) {
  uint32_t n_dims = 0;
  if (!cursor.read(&n_dims)) return table_ends(index);
  if (n_dims < 1 || n_dims > kMaxDims) {
    return bad(tensor.name,
               std::to_string(n_dims) + " dimensions, must be 1 to " + std::to_string(kMaxDims));
  }
  tensor.n_dims = static_cast<int>(n_dims);
  for (size_t i = 0; i < n_dims; ++i) {
    uint64_t dim = 0;
    if (!cursor.read(&dim)) return table_ends(index);
    if (dim == 0) return bad(tensor.name, "dimension " + std::to_string(i) + " is 0");
    if (dim > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return bad(tensor.name, "dimension " + std::to_string(i) + " is " + std::to_string(dim) +
                                  ", more than any file holds");
    }
    tensor.dims[i] = static_cast<int64_t>(dim);
  }
  return {};
}

Result<void> read_type(Cursor& cursor, uint64_t index, TensorView& tensor) {
  uint32_t number = 0;
  if (!cursor.read(&number)) return table_ends(index);
  const TensorTypeInfo* const type = find_tensor_type(number);
  if (type == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 "tensor " + quoted(tensor.name) + ": unknown type " + std::to_string(number), ""};
  }
  tensor.type = type->type;
  if (tensor.dims[0] % type->group != 0) {
    return bad(tensor.name, "rows of " + std::to_string(tensor.dims[0]) + " elements, but " +
                                std::string(type->name) + " stores groups of " +
                                std::to_string(type->group));
  }
  return {};
}

Result<Record> read_record(Cursor& cursor, uint64_t index) {
  Record record{};
  std::span<const std::byte> name;
  if (!cursor.read_text(&name)) return table_ends(index);
  if (name.empty()) return bad("tensor " + std::to_string(index) + " has no name");
  record.view.name = as_text(name);
  PAWL_TRY_VOID(read_dims(cursor, index, record.view));
  PAWL_TRY_VOID(read_type(cursor, index, record.view));
  if (!cursor.read(&record.offset)) return table_ends(index);
  return record;
}

// All bytes of the tensor, or nothing when they overflow.
std::optional<uint64_t> tensor_bytes(const TensorView& tensor) {
  const std::optional<int64_t> row = row_bytes(tensor.type, tensor.dims[0]);
  if (!row) return std::nullopt;
  int64_t bytes = *row;
  for (size_t i = 1; i < tensor.dims.size(); ++i) {
    if (__builtin_mul_overflow(bytes, tensor.dims[i], &bytes)) return std::nullopt;
  }
  return static_cast<uint64_t>(bytes);
}

Result<void> place(Record& record, uint64_t alignment, std::span<const std::byte> data) {
  TensorView& tensor = record.view;
  const std::optional<uint64_t> bytes = tensor_bytes(tensor);
  if (!bytes) return bad(tensor.name, "its size overflows");
  if (record.offset % alignment != 0) {
    return bad(tensor.name, "offset " + std::to_string(record.offset) + ", must be a multiple of " +
                                std::to_string(alignment));
  }
  if (record.offset > data.size() || *bytes > data.size() - record.offset) {
    return bad(tensor.name, std::to_string(*bytes) + " bytes at offset " +
                                std::to_string(record.offset) + ", but the file has " +
                                std::to_string(data.size()) + " bytes of data");
  }
  tensor.data = data.subspan(static_cast<size_t>(record.offset), static_cast<size_t>(*bytes));
  return {};
}

Result<void> check_overlaps(std::span<const TensorView> tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](uint32_t i) { return tensors[i].data.data(); });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorView& before = tensors[order[i - 1]];
    const TensorView& after = tensors[order[i]];
    if (before.data.data() + before.data.size() > after.data.data()) {
      return bad(after.name, "its data overlap those of tensor " + quoted(before.name));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<TensorView>> read_tensor_table(Cursor& cursor, uint64_t count,
                                                  uint64_t alignment,
                                                  std::span<const std::byte> file) {
  const uint64_t limit = cursor.remaining() / kMinRecordBytes;
  if (count > limit) {
    return bad("the header counts " + std::to_string(count) + " tensors, limit " +
               std::to_string(limit) + " for this file");
  }
  std::vector<Record> records;
  for (uint64_t i = 0; i < count; ++i) {
    PAWL_TRY(const Record record, read_record(cursor, i));
    records.push_back(record);
  }

  const uint64_t padding = (alignment - cursor.position() % alignment) % alignment;
  const auto data = padding <= cursor.remaining()
                        ? file.subspan(cursor.position() + static_cast<size_t>(padding))
                        : std::span<const std::byte>();
  std::vector<TensorView> tensors;
  tensors.reserve(records.size());
  for (Record& record : records) {
    PAWL_TRY_VOID(place(record, alignment, data));
    tensors.push_back(record.view);
  }
  PAWL_TRY_VOID(check_overlaps(tensors));
  return tensors;
}

Result<std::vector<uint32_t>> index_by_name(std::span<const TensorView> tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto name_at = [&](uint32_t i) { return tensors[i].name; };
  std::ranges::sort(order, {}, name_at);
  const auto twice = std::ranges::adjacent_find(order, {}, name_at);
  if (twice != order.end()) return bad("tensor " + quoted(name_at(*twice)) + " is there twice");
  return order;
}

}  // namespace pawl::gguf
