// SPDX-License-Identifier: Apache-2.0
// pawl model list | get | show: what there is, getting it, and what is in a file.
#include <fmt/format.h>

#include <cstdio>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_description.h"
#include "cli/model_store.h"
#include "cli/terminal.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kModelListHelp = {
    "model list", "Lists the models that pawl knows by name and those that are here.",
    "pawl model list", "[options]"};
const CommandHelp kModelGetHelp = {
    "model get", "Fetches models and checks their SHA-256; what is here already is checked only.",
    "pawl model get gemma3-270m", "NAME... | URL --sha256 HEX [options]"};
const CommandHelp kModelShowHelp = {
    "model show", "Shows what is in a model file: architecture, tensors and metadata.",
    "pawl model show gemma3-270m", "[NAME|PATH] [options]"};

namespace {

struct GetOptions {
  std::vector<std::string> names;
  std::optional<std::string> sha256;
  std::optional<std::string> name;
};

Json to_json(const ListedModel& model) {
  Json row;
  row["name"] = model.name;
  row["is_present"] = model.is_usable();
  row["is_damaged"] = model.present_bytes.has_value() && !model.is_usable();
  row["path"] = model.path.string();
  row["bytes"] = model.catalog ? std::optional(model.catalog->bytes) : model.present_bytes;
  const auto field = [&](const char* key, std::string CatalogModel::*member) {
    row[key] = model.catalog ? Json((*model.catalog).*member) : Json();
  };
  field("description", &CatalogModel::description);
  field("architecture", &CatalogModel::architecture);
  field("quantization", &CatalogModel::quantization);
  field("license", &CatalogModel::license);
  field("sha256", &CatalogModel::sha256);
  return row;
}

void print_list(const std::vector<ListedModel>& models) {
  size_t width = 4;
  for (const auto& model : models) width = std::max(width, model.name.size());
  fmt::print("{:{}}  {:>7}  {:7}  {:6}  {:18}  {}\n", "NAME", width, "SIZE", "HERE", "FORMAT",
             "LICENCE", "WHAT IT IS");
  for (const auto& model : models) {
    const char* here = model.is_usable() ? "yes" : model.present_bytes ? "damaged" : "no";
    const int64_t bytes = model.catalog ? model.catalog->bytes : model.present_bytes.value_or(0);
    const std::string mix = model.catalog ? model.catalog->quantization : "-";
    fmt::print(
        "{:{}}  {:>7}  {:7}  {:6}  {:18}  {}\n", model.name, width, human_bytes(bytes), here,
        mix.substr(0, mix.find(' ')), model.catalog ? model.catalog->license : "-",
        model.catalog ? model.catalog->description : "a file of yours, not in the catalogue");
  }
}

// The last part of the URL's path, without ".gguf": the name under which a model from there is
// kept.
std::string name_from_url(const std::string& url) {
  std::string path = url.substr(0, url.find_first_of("?#"));
  path = path.substr(path.rfind('/') + 1);
  if (path.ends_with(".gguf")) path.resize(path.size() - 5);
  return path;
}

Result<FetchedModel> get_from_url(const CommandLine& line, const ModelStore& store,
                                  GetOptions given, const FetchOptions& options) {
  if (given.names.size() > 1) return line.wrong("one URL at a time");
  if (!given.sha256) return line.wrong("a URL needs --sha256, the hash of the file that is wanted");
  for (char& c : *given.sha256) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  if (!is_sha256(*given.sha256)) {
    return line.wrong(
        fmt::format("--sha256: '{}' is not 64 hex digits", given.sha256->substr(0, 80)));
  }
  const std::string name = given.name.value_or(name_from_url(given.names[0]));
  if (!is_model_name(name)) {
    return line.wrong(
        fmt::format("'{}' is no model name (letters, digits, '.', '_', '-'); say one "
                    "with --name",
                    name));
  }
  return store.get_url(given.names[0], *given.sha256, name, options);
}

Result<std::vector<FetchedModel>> get_all(const CommandLine& line, const ModelStore& store,
                                          const GetOptions& given, const FetchOptions& options) {
  std::vector<FetchedModel> fetched;
  if (given.names.empty()) return line.wrong("which model? say a name from: pawl model list");
  if (given.names[0].find("://") != std::string::npos) {
    PAWL_TRY(FetchedModel model, get_from_url(line, store, given, options));
    fetched.push_back(std::move(model));
    return fetched;
  }
  if (given.sha256)
    return line.wrong("--sha256 goes with a URL; the catalogue knows its own hashes");
  if (given.name) return line.wrong("--name goes with a URL");
  for (const auto& name : given.names) {
    PAWL_TRY(FetchedModel model, store.get(name, options));
    note(options.is_quiet || model.was_fetched,
         fmt::format("{} is here already, SHA-256 checked", name));
    fetched.push_back(std::move(model));
  }
  return fetched;
}

}  // namespace

Result<ExitStatus> model_list_command(const Arguments& arguments) {
  CommandLine line(kModelListHelp);
  CommonOptions common;
  add_common_options(line, common);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const ModelStore store, ModelStore::open());
  const auto models = store.list();
  if (!common.is_json) {
    print_list(models);
    return ExitStatus::kDone;
  }
  Json document;
  document["models"] = Json::array();
  for (const auto& model : models) document["models"].push_back(to_json(model));
  fmt::print("{}\n", document.dump());
  return ExitStatus::kDone;
}

Result<ExitStatus> model_get_command(const Arguments& arguments) {
  CommandLine line(kModelGetHelp);
  GetOptions given;
  CommonOptions common;
  line.group("What to fetch");
  line.words({"NAME", "", "names from the catalogue, or one URL of a .gguf file"}, given.names);
  line.text({"--sha256", "HEX", "the hash that the URL's file must have"}, given.sha256);
  line.text({"--name", "NAME", "keeps the URL's file under this name", "from the URL"}, given.name);
  add_common_options(line, common);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const ModelStore store, ModelStore::open());
  const InterruptWatch interrupt;
  PAWL_TRY(const auto fetched,
           get_all(line, store, given, {common.is_offline, common.is_quiet, interrupt.token()}));
  Json document;
  document["models"] = Json::array();
  for (const auto& model : fetched) {
    Json row;
    row["name"] = model.name;
    row["path"] = model.path.string();
    row["bytes"] = model.bytes;
    row["sha256"] = model.sha256;
    row["was_fetched"] = model.was_fetched;
    document["models"].push_back(std::move(row));
    if (!common.is_json) fmt::print("{}\n", model.path.string());
  }
  if (common.is_json) fmt::print("{}\n", document.dump());
  return ExitStatus::kDone;
}

Result<ExitStatus> model_show_command(const Arguments& arguments) {
  CommandLine line(kModelShowHelp);
  std::optional<std::string> model;
  bool is_full = false;
  CommonOptions common;
  line.group("What to show");
  line.word({"MODEL", "", "a name from the catalogue, or the path of a .gguf file"}, model);
  line.flag({"--full", "", "arrays in full, however long"}, is_full);
  add_common_options(line, common);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (model && line.was_given("--model")) return line.wrong("the model is given twice");
  PAWL_TRY(const ModelStore store, ModelStore::open());
  std::string path;
  {
    const InterruptWatch interrupt;
    PAWL_TRY(const auto resolved,
             store.resolve(model.value_or(common.model),
                           {common.is_offline, common.is_quiet, interrupt.token()}));
    path = resolved.string();
  }
  PAWL_TRY(const auto file, gguf::open(path));
  if (common.is_json) {
    fmt::print("{}\n", describe_as_json(*file, path, is_full).dump());
  } else {
    fmt::print("{}", describe_as_text(*file, path, is_full));
  }
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
