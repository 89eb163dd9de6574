// SPDX-License-Identifier: Apache-2.0
// The catalogue: which models pawl knows by name, and where each comes from. data/catalog.json is
// compiled into the program; $PAWL_CATALOG names another file in its place.
//
//   {"models": [{"name", "description", "architecture", "quantization", "license", "bytes",
//   "sha256",
//                "url": "https://…"  or  "parts": [{"package", "version", "member"}, …]}]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::cli {

// One file inside one Python package; the parts of a model in order are its GGUF file.
struct CatalogPart {
  std::string package;
  std::string version;
  std::string member;  // path inside the wheel
};

struct CatalogModel {
  std::string name;
  std::string description;
  std::string architecture;
  std::string quantization;
  std::string license;
  int64_t bytes = 0;
  std::string sha256;              // 64 lower-case hex digits
  std::vector<CatalogPart> parts;  // or
  std::string url;
};

// Errors name the model and the field.
base::Result<std::vector<CatalogModel>> parse_catalog(std::string_view json);

// The file that $PAWL_CATALOG names, else the one compiled in.
base::Result<std::vector<CatalogModel>> load_catalog();

// Whether a name may become a file name: letters, digits, '.', '_', '-', 100 at most, no '.' or '-'
// first.
bool is_model_name(std::string_view name);

bool is_sha256(std::string_view text);

}  // namespace pawl::cli
