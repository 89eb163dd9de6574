// SPDX-License-Identifier: Apache-2.0
// The tables of docs/models.md, measured again: what they say of a model is what its file gives.
// With PAWL_WRITE_DOCS=1 in the environment they are written instead.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "model/architectures.h"
#include "model/session_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::model {
namespace {

using base::TokenId;

const std::string kPage = PAWL_SOURCE_DIR "/docs/models.md";

std::string read_page() {
  std::ifstream in(kPage);
  return {std::istreambuf_iterator<char>(in), {}};
}

// One digit is what a table needs, and what another C library's cosines cannot change.
std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.0e", value);
  return value == 0 ? "0" : text;
}

struct Distance {
  double worst = 0;                  // of logits, in reference mode
  double mean_kl = 0, worst_kl = 0;  // in fast mode
};

Distance distance(const std::vector<float>& exact, const std::vector<float>& reference,
                  const std::vector<float>& fast, size_t vocabulary) {
  Distance d;
  d.worst = tests::largest_difference(exact, reference);
  const size_t rows = exact.size() / vocabulary;
  for (size_t r = 0; r < rows; ++r) {
    const double kl = tests::divergence(std::span(exact).subspan(r * vocabulary, vocabulary),
                                        std::span(fast).subspan(r * vocabulary, vocabulary));
    d.mean_kl += kl / static_cast<double>(rows);
    d.worst_kl = std::max(d.worst_kl, kl);
  }
  return d;
}

std::vector<float> rows_of(const std::string& path, Precision precision,
                           const std::vector<std::vector<TokenId>>& sequences,
                           const std::vector<int>& wanted) {
  TestSession session(path, best(), 2, precision);
  std::vector<float> rows;
  for (size_t i = 0; i < sequences.size(); ++i) {
    session.restart();
    const auto part = session.append(sequences[i], 512, wanted[i]);
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

std::vector<std::vector<TokenId>> sequences_of(const nlohmann::json& info) {
  std::vector<std::vector<TokenId>> sequences;
  for (const auto& s : info["sequences"]) sequences.push_back(s.get<std::vector<TokenId>>());
  return sequences;
}

// Of the greedy ids, how many agree before the first that does not.
size_t agreeing(const std::string& path, const std::vector<TokenId>& prompt,
                const std::vector<TokenId>& ids) {
  TestSession session(path, best(), 1, Precision::kReference);
  std::vector<float> row = session.append(prompt, 512, 1);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (std::max_element(row.begin(), row.end()) - row.begin() != ids[i]) return i;
    row = session.append({&ids[i], 1}, 1, 1);
  }
  return ids.size();
}

std::string tiny_row(const std::string& name, const std::string& path) {
  const nlohmann::json info = tests::read_json(*tests::golden_path("tiny/" + name + ".json"));
  const tests::Npy exact = tests::read_npy(*tests::golden_path("tiny/" + name + ".logits.npy"));
  const auto sequences = sequences_of(info);
  const std::vector<int> wanted = {static_cast<int>(sequences[0].size()),
                                   static_cast<int>(sequences[1].size()), 1};
  const Distance d =
      distance(exact.data, rows_of(path, Precision::kReference, sequences, wanted),
               rows_of(path, Precision::kFast, sequences, wanted), static_cast<size_t>(exact.cols));
  const auto ids = info["greedy"]["ids"].get<std::vector<TokenId>>();
  const std::string architecture(
      gguf::open(path).value()->metadata().get_string("general.architecture").value());
  std::ostringstream row;
  row << "| " << name << " | `" << architecture << "` | " << rounded(d.worst) << " | "
      << agreeing(path, sequences[1], ids) << " of " << ids.size() << " | " << rounded(d.mean_kl)
      << " | " << rounded(d.worst_kl) << " | "
      << rounded(info["llama_cpp_on_the_f16_file"]["mean_kl"].get<double>()) << " |\n";
  return row.str();
}

// Null where the data are not there.
std::optional<std::string> tiny_table() {
  const auto found = tests::golden_path("tiny/sensitivity.json");
  if (!found) return std::nullopt;
  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(*found).parent_path())) {
    if (entry.path().extension() == ".gguf") names.insert(entry.path().stem().string());
  }
  std::string table =
      "| model | architecture | reference: max \\|Δlogit\\| | greedy ids | fast: mean KL | fast: "
      "largest KL | llama.cpp's mean KL |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const std::string& name : names)
    table += tiny_row(name, *tests::golden_path("tiny/" + name + ".gguf"));
  return table;
}

std::optional<std::string> look_alike_table() {
  const auto json = tests::golden_path("look_alikes/look_alikes.json");
  if (!json) return std::nullopt;
  const auto sequences = sequences_of(tests::read_json(*json));
  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(*json).parent_path())) {
    if (entry.path().extension() == ".gguf") names.insert(entry.path().stem().string());
  }
  std::vector<int> wanted;
  for (const auto& ids : sequences) wanted.push_back(static_cast<int>(ids.size()));
  std::string table =
      "| model | architecture | reference: max \\|Δlogit\\| | fast: mean KL | fast: largest KL |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const std::string& name : names) {
    const std::string path = *tests::golden_path("look_alikes/" + name + ".gguf");
    const tests::Npy exact =
        tests::read_npy(*tests::golden_path("look_alikes/" + name + ".logits.npy"));
    const Distance d = distance(exact.data, rows_of(path, Precision::kReference, sequences, wanted),
                                rows_of(path, Precision::kFast, sequences, wanted),
                                static_cast<size_t>(exact.cols));
    const std::string architecture(
        gguf::open(path).value()->metadata().get_string("general.architecture").value());
    table += "| " + name + " | `" + architecture + "` | " + rounded(d.worst) + " | " +
             rounded(d.mean_kl) + " | " + rounded(d.worst_kl) + " |\n";
  }
  return table;
}

std::optional<std::string> type_table() {
  const auto json = tests::golden_path("quants/quants.json");
  const auto npy = tests::golden_path("quants/logits.npy");
  if (!json || !npy) return std::nullopt;
  const nlohmann::json info = tests::read_json(*json);
  const tests::Npy logits = tests::read_npy(*npy);
  const auto sequences = sequences_of(info);
  std::string table =
      "| file | tensor types | reference: max \\|Δlogit\\| | fast: mean KL | llama.cpp's mean KL | "
      "what the type itself costs, KL |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const auto& file : info["files"]) {
    const std::string name = file["file"].get<std::string>();
    const auto path = tests::golden_path("quants/" + name);
    if (!path) return std::nullopt;
    const int64_t first = file["row_of_first_sequence"].get<int64_t>();
    const std::vector<float> exact(logits.row(first), logits.row(first + 2));
    const Distance d = distance(exact, rows_of(*path, Precision::kReference, sequences, {1, 1}),
                                rows_of(*path, Precision::kFast, sequences, {1, 1}),
                                static_cast<size_t>(logits.cols));
    const auto mean = [&](const char* key) {
      return (file[key][0].get<double>() + file[key][1].get<double>()) / 2;
    };
    std::string types;
    for (const auto& [type, count] : file["tensor_types"].items())
      types += (types.empty() ? "" : ", ") + type;
    table += "| " + name + " | " + types + " | " + rounded(d.worst) + " | " + rounded(d.mean_kl) +
             " | " + rounded(mean("kl_exact_llama_cpp_fast")) + " | " +
             rounded(mean("kl_base_exact")) + " |\n";
  }
  return table;
}

// What stands in the page between the two lines that name the table.
void expect_table(const std::string& name, const std::optional<std::string>& table) {
  if (!table) GTEST_SKIP() << "missing: golden/" << name;
  std::string page = read_page();
  const std::string begin = "<!-- begin: " + name + " -->\n", end = "<!-- end: " + name + " -->\n";
  const size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos) << begin;
  ASSERT_NE(to, std::string::npos) << end;
  const std::string written = page.substr(from + begin.size(), to - from - begin.size());
  const char* writes = std::getenv("PAWL_WRITE_DOCS");
  if (writes != nullptr && std::string_view(writes) == "1") {
    page.replace(from + begin.size(), written.size(), *table);
    std::ofstream(kPage) << page;
    return;
  }
  EXPECT_EQ(written, *table) << "PAWL_WRITE_DOCS=1 writes it anew";
}

TEST(ModelsPage, SaysWhatTheSmallModelsGive) {
  expect_table("tiny", tiny_table());
}

TEST(ModelsPage, SaysWhatTheLookAlikesGive) {
  expect_table("look_alikes", look_alike_table());
}

TEST(ModelsPage, SaysWhatTheTensorTypesGive) {
  expect_table("quants", type_table());
}

TEST(ModelsPage, NamesEveryArchitecture) {
  const std::string page = read_page();
  for (const Architecture& row : architectures()) {
    EXPECT_NE(page.find("`" + std::string(row.name) + "`"), std::string::npos) << row.name;
  }
}

// An engine that left one of these out would be seen: by the logits' tolerance of 1e-3.
TEST(ModelsPage, EveryFeatureThatCouldBeLeftOutMovesALogitBeyondTheTolerance) {
  const auto json = tests::golden_path("tiny/sensitivity.json");
  if (!json) GTEST_SKIP() << "missing: golden/tiny/sensitivity.json";
  const nlohmann::json features = tests::read_json(*json);
  const std::string page = read_page();
  EXPECT_GE(features.size(), 73u);
  for (const auto& feature : features) {
    const double moved = std::max(feature["max_diff_rows_0_44"].get<double>(),
                                  feature["max_diff_row_45"].get<double>());
    EXPECT_GT(moved, 1e-3) << feature;
    EXPECT_NE(page.find("| " + feature["model"].get<std::string>() + " |"), std::string::npos)
        << feature["model"];
  }
}

}  // namespace
}  // namespace pawl::model
