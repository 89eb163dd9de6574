// SPDX-License-Identifier: Apache-2.0
#include "cli/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "base/json.h"
#include "base/mapped_file.h"

namespace pawl::cli {

extern const char kCatalogJson[];

namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

Error bad(std::string message) {
  return {ErrorCode::kBadFile, std::move(message), "catalogue"};
}

Result<std::string> text_field(const Json& object, const char* key, const std::string& owner) {
  const Json* value = object.find(key);
  if (value == nullptr || value->as_string() == nullptr || value->as_string()->empty()) {
    return bad(fmt::format("{}: '{}' is missing or no text", owner, key));
  }
  return *value->as_string();
}

bool is_word_of(std::string_view text, std::string_view extra) {
  return !text.empty() && text.size() <= 100 && text[0] != '.' && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  extra.find(c) != std::string_view::npos;
         });
}

// Package and version become an argument of another program: plain words only.
Result<CatalogPart> read_part(const Json& object, const std::string& owner) {
  CatalogPart part;
  PAWL_TRY(part.package, text_field(object, "package", owner));
  PAWL_TRY(part.version, text_field(object, "version", owner));
  PAWL_TRY(part.member, text_field(object, "member", owner));
  if (!is_word_of(part.package, "._-")) {
    return bad(fmt::format("{}: package '{}' is no package name", owner, part.package));
  }
  if (!is_word_of(part.version, "._-+!")) {
    return bad(fmt::format("{}: version '{}' is no version", owner, part.version));
  }
  return part;
}

Result<void> read_source(const Json& object, CatalogModel& model, const std::string& owner) {
  const Json* parts = object.find("parts");
  const Json* url = object.find("url");
  if ((parts == nullptr) == (url == nullptr)) {
    return bad(owner + ": needs either 'parts' or 'url'");
  }
  if (url != nullptr) {
    PAWL_TRY(model.url, text_field(object, "url", owner));
    return {};
  }
  if (parts->as_array() == nullptr || parts->as_array()->empty()) {
    return bad(owner + ": 'parts' is no list of parts");
  }
  for (const Json& item : *parts->as_array()) {
    PAWL_TRY(CatalogPart part, read_part(item, owner));
    model.parts.push_back(std::move(part));
  }
  return {};
}

Result<CatalogModel> read_model(const Json& object, size_t index) {
  CatalogModel model;
  PAWL_TRY(model.name, text_field(object, "name", fmt::format("model {}", index)));
  const std::string owner = "model '" + model.name + "'";
  if (!is_model_name(model.name)) return bad(owner + ": the name is no file name");
  PAWL_TRY(model.description, text_field(object, "description", owner));
  PAWL_TRY(model.architecture, text_field(object, "architecture", owner));
  PAWL_TRY(model.quantization, text_field(object, "quantization", owner));
  PAWL_TRY(model.license, text_field(object, "license", owner));
  PAWL_TRY(model.sha256, text_field(object, "sha256", owner));
  if (!is_sha256(model.sha256)) return bad(owner + ": 'sha256' is not 64 lower-case hex digits");
  const Json* bytes = object.find("bytes");
  model.bytes = bytes == nullptr ? 0 : bytes->to_int64().value_or(0);
  if (model.bytes <= 0) return bad(owner + ": 'bytes' is missing or no positive integer");
  PAWL_TRY_VOID(read_source(object, model, owner));
  return model;
}

}  // namespace

bool is_model_name(std::string_view name) {
  return is_word_of(name, "._-");
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::vector<CatalogModel>> parse_catalog(std::string_view json) {
  PAWL_TRY(const Json document, base::parse_json(json));
  const Json* list = document.find("models");
  if (list == nullptr || list->as_array() == nullptr) return bad("'models' is missing or no list");
  std::vector<CatalogModel> models;
  std::set<std::string> names;
  for (const Json& item : *list->as_array()) {
    PAWL_TRY(CatalogModel model, read_model(item, models.size()));
    if (!names.insert(model.name).second) return bad("model '" + model.name + "' stands twice");
    models.push_back(std::move(model));
  }
  return models;
}

Result<std::vector<CatalogModel>> load_catalog() {
  const char* path = std::getenv("PAWL_CATALOG");
  if (path == nullptr || *path == '\0') return parse_catalog(kCatalogJson);
  PAWL_TRY(const base::MappedFile file, base::MappedFile::open(path));
  const auto bytes = file.bytes();
  auto models = parse_catalog({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!models.ok()) models.error().where = path;
  return models;
}

}  // namespace pawl::cli
