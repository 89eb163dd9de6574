// SPDX-License-Identifier: Apache-2.0
#include "cli/model_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/clock.h"
#include "cli/model_sources.h"
#include "cli/terminal.h"

namespace pawl::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::FileLock;
using base::Result;

// One model to fetch, and from where: a URL if there is one, else parts.
struct ModelStore::Job {
  FetchTarget target;
  std::string url;
  std::vector<CatalogPart> parts;
};

namespace {

std::optional<int64_t> size_of(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return std::nullopt;
  const auto size = fs::file_size(path, failure);
  if (failure) return std::nullopt;
  return static_cast<int64_t>(size);
}

bool is_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".gguf");
}

Error damaged(const ListedModel& model) {
  return {ErrorCode::kBadFile,
          fmt::format(
              "the file of '{}' has {} bytes, the catalogue says {}; remove it and run: pawl "
              "model get {}",
              model.name, grouped(*model.present_bytes), grouped(model.catalog->bytes), model.name),
          model.path.string()};
}

// A broken transfer can go on where it ended: whoever reads the error should know.
Error with_hint(Error error, int64_t kept_bytes) {
  const bool is_broken = error.code == ErrorCode::kNetwork || error.code == ErrorCode::kCancelled;
  if (is_broken && kept_bytes > 0) {
    error.message +=
        fmt::format("; {} are kept, the same command continues", human_bytes(kept_bytes));
  }
  return error;
}

// True when `stop` was asked for before the time had passed.
bool wait_or_stop(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return stop.stop_requested();
}

}  // namespace

Result<ModelStore> ModelStore::open() {
  PAWL_TRY(auto catalog, load_catalog());
  const char* own = std::getenv("PAWL_HOME");
  const char* home = std::getenv("HOME");
  if (own != nullptr && *own != '\0')
    return ModelStore(fs::path(own) / "models", std::move(catalog));
  if (home == nullptr || *home == '\0') {
    return Error{ErrorCode::kInvalidArgument, "neither $PAWL_HOME nor $HOME is set",
                 "model folder"};
  }
  return ModelStore(fs::path(home) / ".cache" / "pawl" / "models", std::move(catalog));
}

const CatalogModel* ModelStore::find(const std::string& name) const {
  for (const auto& model : catalog_) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

std::vector<ListedModel> ModelStore::list() const {
  std::vector<ListedModel> models;
  for (const auto& model : catalog_) {
    models.push_back({model.name, model, path_of(model.name), size_of(path_of(model.name))});
  }
  std::vector<std::string> others;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder_, failure)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".gguf" && !find(name)) others.push_back(name);
  }
  std::sort(others.begin(), others.end());
  for (const auto& name : others) {
    models.push_back({name, std::nullopt, path_of(name), size_of(path_of(name))});
  }
  return models;
}

Error ModelStore::unknown_name(const std::string& name) const {
  std::string known;
  for (const auto& model : list()) known += (known.empty() ? "" : ", ") + model.name;
  return {ErrorCode::kInvalidArgument,
          fmt::format("there is no model '{}'; known are {}, or give the path of a .gguf file",
                      name, known),
          "see: pawl model list"};
}

Result<fs::path> ModelStore::resolve(const std::string& name_or_path,
                                     const FetchOptions& options) const {
  if (is_path(name_or_path)) {
    std::error_code failure;
    if (fs::exists(name_or_path, failure)) return fs::path(name_or_path);
    return Error{ErrorCode::kNotFound, "there is no such file", name_or_path};
  }
  for (const auto& model : list()) {
    if (model.name != name_or_path) continue;
    if (model.is_usable()) return model.path;
    if (model.present_bytes) return damaged(model);
    if (options.is_offline) {
      return Error{
          ErrorCode::kNotFound,
          fmt::format("model '{}' is not here, and --offline forbids to fetch it", model.name),
          model.path.string()};
    }
    note(options.is_quiet, fmt::format("fetching {}: {}, {}, licence {}", model.name,
                                       human_bytes(model.catalog->bytes),
                                       model.catalog->quantization, model.catalog->license));
    PAWL_TRY(FetchedModel fetched, get(model.name, options));
    return fetched.path;
  }
  return unknown_name(name_or_path);
}

Result<FetchedModel> ModelStore::get(const std::string& name, const FetchOptions& options) const {
  const CatalogModel* model = find(name);
  if (model == nullptr) return unknown_name(name);
  Job job{{name, path_of(name), model->bytes, model->sha256}, model->url, model->parts};
  return run(job, options);
}

Result<FetchedModel> ModelStore::get_url(const std::string& url, const std::string& sha256,
                                         const std::string& name,
                                         const FetchOptions& options) const {
  const CatalogModel* known = find(name);
  if (known != nullptr && known->sha256 != sha256) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is the name of a catalogue model with another SHA-256", name),
                 "--name"};
  }
  return run({{name, path_of(name), std::nullopt, sha256}, url, {}}, options);
}

Result<FileLock> ModelStore::wait_for_lock(const std::string& name,
                                           const FetchOptions& options) const {
  const fs::path path = folder_ / ("." + name + ".lock");
  for (bool is_first = true;; is_first = false) {
    PAWL_TRY(std::optional<FileLock> lock, FileLock::try_acquire(path));
    if (lock) return std::move(*lock);
    if (is_first) {
      note(options.is_quiet,
           fmt::format("{} is being fetched by another pawl; waiting for it", name));
    }
    if (wait_or_stop(options.stop, std::chrono::milliseconds(200))) {
      return Error{ErrorCode::kCancelled, "interrupted", name};
    }
  }
}

Result<void> ModelStore::check_space(const Job& job) const {
  if (!job.target.bytes) return {};
  // Beside the model there is one wheel, twice for a moment: in pip's temporary folder and where it
  // was asked for.
  const auto parts = static_cast<int64_t>(job.parts.size());
  const int64_t needed = *job.target.bytes + (parts == 0 ? 0 : 2 * (*job.target.bytes / parts));
  std::error_code failure;
  const auto space = fs::space(folder_, failure);
  if (failure || static_cast<int64_t>(space.available) >= needed) return {};
  return Error{
      ErrorCode::kIo,
      fmt::format("'{}' needs {} of disk while it is fetched, {} are free", job.target.name,
                  human_bytes(needed), human_bytes(static_cast<int64_t>(space.available))),
      folder_.string()};
}

Result<FetchedModel> ModelStore::run(const Job& job, const FetchOptions& options) const {
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) {
    return Error{ErrorCode::kIo, "cannot make the folder: " + failure.message(), folder_.string()};
  }
  PAWL_TRY(const FileLock lock, wait_for_lock(job.target.name, options));
  FetchedModel fetched{job.target.name, job.target.path, 0, job.target.sha256, false};
  if (const auto size = size_of(job.target.path)) {
    PAWL_TRY(const std::string found, sha256_of_file(job.target.path));
    if (found != job.target.sha256) {
      return Error{
          ErrorCode::kBadFile,
          fmt::format("a file of that name is here with SHA-256 {}, expected {}; remove it to "
                      "fetch '{}'",
                      found, job.target.sha256, job.target.name),
          job.target.path.string()};
    }
    fetched.bytes = *size;
    return fetched;
  }
  if (options.is_offline) {
    return Error{
        ErrorCode::kNotFound,
        fmt::format("model '{}' is not here, and --offline forbids to fetch it", job.target.name),
        job.target.path.string()};
  }
  PAWL_TRY_VOID(check_space(job));
  PAWL_TRY_VOID(transfer(job, options));
  fetched.was_fetched = true;
  fetched.bytes = size_of(job.target.path).value_or(0);
  return fetched;
}

Result<void> ModelStore::transfer(const Job& job, const FetchOptions& options) const {
  const base::SteadyClock clock;
  Progress progress(job.target.name, Progress::style_for(options.is_quiet), clock);
  const ProgressFunction update = [&](int64_t done, std::optional<int64_t> total) {
    progress.update(done, total);
  };
  if (!job.url.empty()) {
    const fs::path part =
        folder_ / (job.target.name + "." + job.target.sha256.substr(0, 12) + ".part");
    PAWL_TRY(ModelSink sink,
             ModelSink::open(job.target, part, base::PendingFile::Unfinished::kKeep));
    progress.set_start(sink.size());
    auto fetched = fetch_url(job.url, sink, update, options.stop);
    if (!fetched.ok()) return with_hint(std::move(fetched).error(), sink.size());
    PAWL_TRY_VOID(sink.finish());
    progress.finish();
    return {};
  }
  // The lock is ours: what lies in the folder was left by a process that was killed.
  const fs::path work = folder_ / ("." + job.target.name + ".fetch");
  std::error_code ignored;
  fs::remove_all(work, ignored);
  fs::create_directories(work, ignored);
  const auto fill = [&]() -> Result<void> {
    PAWL_TRY(ModelSink sink,
             ModelSink::open(job.target, work / "model", base::PendingFile::Unfinished::kRemove));
    PAWL_TRY_VOID(fetch_packages(job.parts, *job.target.bytes, work, sink, update, options.stop));
    return sink.finish();
  };
  const Result<void> filled = fill();
  fs::remove_all(work, ignored);
  if (filled.ok()) progress.finish();
  return filled;
}

}  // namespace pawl::cli
