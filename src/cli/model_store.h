// SPDX-License-Identifier: Apache-2.0
// The models on this machine: found by name or path, listed, fetched. They live in
// $PAWL_HOME/models (default
// ~/.cache/pawl/models), one file NAME.gguf each.
//
// Fetching holds a lock file per model (.NAME.lock), so two at once fetch once. Everything arrives
// under temporary names in the same folder: .NAME.fetch/ for packages, NAME.<hash>.part for URLs,
// which stays when a transfer breaks and is continued by the next one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/file_lock.h"
#include "base/result.h"
#include "cli/catalog.h"
#include "cli/model_sink.h"

namespace pawl::cli {

inline constexpr const char* kDefaultModel = "gemma3-270m";

// A row of the list: in the catalogue, here, or both.
struct ListedModel {
  std::string name;
  std::optional<CatalogModel> catalog;   // nothing: a file that the user put here
  std::filesystem::path path;            // where it is or would be
  std::optional<int64_t> present_bytes;  // of the file; nothing when it is not here
  bool is_usable() const { return present_bytes && (!catalog || *present_bytes == catalog->bytes); }
};

struct FetchOptions {
  bool is_offline = false;
  bool is_quiet = false;
  std::stop_token stop;
};

struct FetchedModel {
  std::string name;
  std::filesystem::path path;
  int64_t bytes = 0;
  std::string sha256;
  bool was_fetched = false;  // false: it was here, and its hash is right
};

// Threads: one.
class ModelStore {
 public:
  // Reads the environment and the catalogue; makes no folder. Errors of the catalogue;
  // kInvalidArgument when there is neither $PAWL_HOME nor $HOME.
  static base::Result<ModelStore> open();

  // The catalogue in its order, then files of other names, sorted.
  std::vector<ListedModel> list() const;

  // The file for what the user wrote after --model: a path when it holds a '/' or ends in ".gguf",
  // else a name. A catalogue model that is not here is fetched unless offline. Errors:
  // kInvalidArgument for an unknown name, kNotFound for a path that is not there or when offline,
  // kBadFile for a damaged model, those of fetching.
  base::Result<std::filesystem::path> resolve(const std::string& name_or_path,
                                              const FetchOptions& options) const;

  // Makes sure the model is here and its hash is right. Errors as above, and kIo when the disk is
  // too small.
  base::Result<FetchedModel> get(const std::string& name, const FetchOptions& options) const;
  // The same for any URL, under a name of the user's. REQUIRES: is_sha256(sha256),
  // is_model_name(name)
  base::Result<FetchedModel> get_url(const std::string& url, const std::string& sha256,
                                     const std::string& name, const FetchOptions& options) const;

 private:
  struct Job;

  ModelStore(std::filesystem::path folder, std::vector<CatalogModel> catalog)
      : folder_(std::move(folder)), catalog_(std::move(catalog)) {}

  const CatalogModel* find(const std::string& name) const;
  std::filesystem::path path_of(const std::string& name) const {
    return folder_ / (name + ".gguf");
  }
  base::Error unknown_name(const std::string& name) const;
  base::Result<base::FileLock> wait_for_lock(const std::string& name,
                                             const FetchOptions& options) const;
  base::Result<void> check_space(const Job& job) const;
  base::Result<FetchedModel> run(const Job& job, const FetchOptions& options) const;
  base::Result<void> transfer(const Job& job, const FetchOptions& options) const;

  std::filesystem::path folder_;
  std::vector<CatalogModel> catalog_;
};

}  // namespace pawl::cli
