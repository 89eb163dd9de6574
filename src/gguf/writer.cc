// SPDX-License-Identifier: Apache-2.0
#include "gguf/writer.h"

#include <unistd.h>

#include <utility>

#include "base/check.h"
#include "base/pending_file.h"

namespace pawl::gguf {

using base::Result;

namespace {

template <typename T>
void append(std::vector<std::byte>& out, T number) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

void append_bytes(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_text(std::vector<std::byte>& out, std::string_view text) {
  append(out, static_cast<uint64_t>(text.size()));
  append_bytes(out, std::as_bytes(std::span(text)));
}

void pad(std::vector<std::byte>& out, uint32_t alignment) {
  out.resize((out.size() + alignment - 1) / alignment * alignment);
}

}  // namespace

void Writer::add_raw(std::string_view key, ValueType type, std::span<const std::byte> payload) {
  append_text(metadata_, key);
  append(metadata_, static_cast<uint32_t>(type));
  append_bytes(metadata_, payload);
  ++pairs_;
}

void Writer::add(std::string_view key, std::string_view text) {
  std::vector<std::byte> payload;
  append_text(payload, text);
  add_raw(key, ValueType::kString, payload);
}

void Writer::add(std::string_view key, const Value& value) {
  if (value.type == ValueType::kArray) {
    add_raw_array(key, value.element, value.count, value.payload);
  } else if (value.type == ValueType::kString) {
    add(key, std::string_view(reinterpret_cast<const char*>(value.payload.data()),
                              value.payload.size()));
  } else {
    add_raw(key, value.type, value.payload);
  }
}

void Writer::add_array(std::string_view key, const std::vector<std::string>& texts) {
  std::vector<std::byte> elements;
  for (const std::string& text : texts) append_text(elements, text);
  add_raw_array(key, ValueType::kString, texts.size(), elements);
}

void Writer::add_raw_array(std::string_view key, ValueType element, uint64_t count,
                           std::span<const std::byte> elements) {
  std::vector<std::byte> payload;
  append(payload, static_cast<uint32_t>(element));
  append(payload, count);
  append_bytes(payload, elements);
  add_raw(key, ValueType::kArray, payload);
}

void Writer::set_alignment(uint32_t alignment) {
  PAWL_CHECK(alignment > 0);
  alignment_ = alignment;
  add("general.alignment", alignment);
}

void Writer::add_tensor(std::string_view name, TensorType type, std::vector<uint64_t> dims,
                        std::span<const std::byte> data) {
  pad(data_, alignment_);
  tensors_.push_back({std::string(name), type, std::move(dims), data_.size()});
  append_bytes(data_, data);
}

void Writer::announce_tensor(std::string_view name, TensorType type, std::vector<uint64_t> dims,
                             uint64_t bytes) {
  PAWL_CHECK(data_.empty());
  tensors_.push_back({std::string(name), type, std::move(dims), announced_bytes_});
  announced_bytes_ += (bytes + alignment_ - 1) / alignment_ * alignment_;
}

std::vector<std::byte> Writer::head() const {
  std::vector<std::byte> out;
  append_bytes(out, std::as_bytes(std::span("GGUF", 4)));
  append(out, version_);
  append(out, static_cast<uint64_t>(tensors_.size()));
  append(out, pairs_);
  append_bytes(out, metadata_);
  for (const Tensor& tensor : tensors_) {
    append_text(out, tensor.name);
    append(out, static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) append(out, dim);
    append(out, static_cast<uint32_t>(tensor.type));
    append(out, tensor.offset);
  }
  pad(out, alignment_);
  return out;
}

std::vector<std::byte> Writer::bytes() const {
  std::vector<std::byte> out = head();
  append_bytes(out, data_);
  return out;
}

Result<void> Writer::write(const std::string& path) const {
  const std::string partial = path + ".partial-" + std::to_string(::getpid());
  PAWL_TRY(auto file, base::PendingFile::create(partial, base::PendingFile::Unfinished::kRemove));
  PAWL_TRY_VOID(file.write(bytes()));
  return file.commit(path);
}

}  // namespace pawl::gguf
