// SPDX-License-Identifier: Apache-2.0
#include "cli/model_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/terminal.h"
#include "gguf/value.h"

namespace pawl::cli {
namespace {

using base::Json;
using gguf::TensorView;
using gguf::Value;
using gguf::ValueType;

constexpr uint64_t kShortArray = 64;  // elements up to which an array is shown whole in JSON
constexpr uint64_t kShownOfLong = 8;

int64_t elements_of(const TensorView& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims) count *= dim;
  return count;
}

int64_t parameters_of(const gguf::File& file) {
  int64_t sum = 0;
  for (const auto& tensor : file.tensors()) sum += elements_of(tensor);
  return sum;
}

std::string architecture_of(const gguf::File& file) {
  const auto name = file.metadata().get_string("general.architecture");
  return name.ok() ? std::string(*name) : "";
}

Json to_json(const Value& value, bool is_full);

Json array_to_json(const Value& array, bool is_full) {
  const bool is_whole = is_full || array.count <= kShortArray;
  const uint64_t shown = is_whole ? array.count : kShownOfLong;
  Json items = Json::array();
  gguf::Cursor cursor(array.payload);
  for (uint64_t i = 0; i < shown; ++i) {
    const auto element = gguf::read_value(cursor, array.element, 1);
    if (!element.ok()) break;
    items.push_back(to_json(*element, is_full));
  }
  if (is_whole) return items;
  Json cut;
  cut["type"] = gguf::value_type_name(array.element);
  cut["count"] = array.count;
  cut["first"] = std::move(items);
  return cut;
}

Json to_json(const Value& value, bool is_full) {
  switch (value.type) {
    case ValueType::kUint8:
      return Json(int64_t{gguf::number_of<uint8_t>(value)});
    case ValueType::kInt8:
      return Json(int64_t{gguf::number_of<int8_t>(value)});
    case ValueType::kUint16:
      return Json(int64_t{gguf::number_of<uint16_t>(value)});
    case ValueType::kInt16:
      return Json(int64_t{gguf::number_of<int16_t>(value)});
    case ValueType::kUint32:
      return Json(int64_t{gguf::number_of<uint32_t>(value)});
    case ValueType::kInt32:
      return Json(int64_t{gguf::number_of<int32_t>(value)});
    case ValueType::kUint64:
      return Json(gguf::number_of<uint64_t>(value));
    case ValueType::kInt64:
      return Json(gguf::number_of<int64_t>(value));
    case ValueType::kFloat32:
      return Json(gguf::number_of<float>(value));
    case ValueType::kFloat64:
      return Json(gguf::number_of<double>(value));
    case ValueType::kBool:
      return Json(gguf::number_of<uint8_t>(value) != 0);
    case ValueType::kString:
      return Json(gguf::as_text(value.payload));
    case ValueType::kArray:
      return array_to_json(value, is_full);
  }
  return Json();
}

struct TypeTotal {
  int64_t tensors = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
};

// By type, largest first.
std::vector<std::pair<std::string, TypeTotal>> totals_by_type(const gguf::File& file) {
  std::map<std::string, TypeTotal> by_name;
  for (const auto& tensor : file.tensors()) {
    auto& total = by_name[std::string(gguf::tensor_type_info(tensor.type).name)];
    ++total.tensors;
    total.elements += elements_of(tensor);
    total.bytes += static_cast<int64_t>(tensor.data.size());
  }
  std::vector<std::pair<std::string, TypeTotal>> sorted(by_name.begin(), by_name.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  return sorted;
}

std::string shape_text(const TensorView& tensor) {
  std::string text;
  for (int i = 0; i < tensor.n_dims; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : " x ", tensor.dims[static_cast<size_t>(i)]);
  }
  return text;
}

std::string tensor_table(const gguf::File& file) {
  size_t name_width = 4;
  size_t shape_width = 5;
  for (const auto& tensor : file.tensors()) {
    name_width = std::max(name_width, tensor.name.size());
    shape_width = std::max(shape_width, shape_text(tensor).size());
  }
  name_width = std::min<size_t>(name_width, 60);
  std::string text;
  for (const auto& tensor : file.tensors()) {
    text += fmt::format("  {:{}}  {:8} {:>{}}  {:>10}\n", visible(tensor.name), name_width,
                        gguf::tensor_type_info(tensor.type).name, shape_text(tensor), shape_width,
                        human_bytes(static_cast<int64_t>(tensor.data.size())));
  }
  return text;
}

}  // namespace

Json describe_as_json(const gguf::File& file, const std::string& path, bool is_full) {
  Json document;
  document["path"] = path;
  document["gguf_version"] = int64_t{file.version()};
  document["bytes"] = file.bytes();
  const std::string architecture = architecture_of(file);
  document["architecture"] = architecture.empty() ? Json() : Json(architecture);
  document["parameters"] = parameters_of(file);
  document["types"] = Json::array();
  for (const auto& [name, total] : totals_by_type(file)) {
    Json row;
    row["type"] = name;
    row["tensors"] = total.tensors;
    row["elements"] = total.elements;
    row["bytes"] = total.bytes;
    document["types"].push_back(std::move(row));
  }
  Json::Array tensors;
  for (const auto& tensor : file.tensors()) {
    Json row;
    row["name"] = tensor.name;
    row["type"] = gguf::tensor_type_info(tensor.type).name;
    Json shape = Json::array();
    for (int i = 0; i < tensor.n_dims; ++i) shape.push_back(tensor.dims[static_cast<size_t>(i)]);
    row["shape"] = std::move(shape);
    row["bytes"] = static_cast<int64_t>(tensor.data.size());
    tensors.push_back(std::move(row));
  }
  document["tensors"] = Json::array_of(std::move(tensors));
  Json::Object metadata;
  for (const auto& entry : file.metadata().entries()) {
    metadata.push_back({std::string(entry.key), to_json(entry.value, is_full)});
  }
  document["metadata"] = Json::object_of(std::move(metadata));
  return document;
}

std::string describe_as_text(const gguf::File& file, const std::string& path, bool is_full) {
  const std::string architecture = architecture_of(file);
  const int64_t parameters = parameters_of(file);
  std::string text;
  text += fmt::format("file          {}\n", path);
  text += fmt::format("format        GGUF version {}, {} bytes\n", file.version(),
                      grouped(file.bytes()));
  text += fmt::format("architecture  {}\n",
                      architecture.empty() ? "(not said)" : visible(architecture));
  text += fmt::format(
      "parameters    {}, {:.2f} bits each\n", grouped(parameters),
      parameters == 0 ? 0.0
                      : 8.0 * static_cast<double>(file.bytes()) / static_cast<double>(parameters));
  text += "types         ";
  std::string_view separator;
  for (const auto& [name, total] : totals_by_type(file)) {
    text += fmt::format("{}{} {} in {} tensors", separator, human_bytes(total.bytes), name,
                        total.tensors);
    separator = ", ";
  }
  text += fmt::format("\n\nmetadata, {} keys\n", file.metadata().entries().size());
  size_t width = 0;
  for (const auto& entry : file.metadata().entries()) width = std::max(width, entry.key.size());
  width = std::min<size_t>(width, 48);
  for (const auto& entry : file.metadata().entries()) {
    const size_t shown = is_full ? static_cast<size_t>(entry.value.count) : 4;
    text +=
        fmt::format("  {:{}}  {}\n", visible(entry.key), width, gguf::describe(entry.value, shown));
  }
  text += fmt::format("\ntensors, {}\n", file.tensors().size());
  text += tensor_table(file);
  return text;
}

}  // namespace pawl::cli
