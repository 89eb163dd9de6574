// SPDX-License-Identifier: Apache-2.0
#include "probe/trace.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/digest.h"
#include "base/utf8.h"
#include "policy/row_math.h"
#include "probe/policy_json.h"

namespace pawl::probe {

using base::Json;
using base::TokenId;

namespace {

void add_text(Json& json, const text::Tokenizer& tokenizer, TokenId id) {
  std::string bytes;
  tokenizer.append_piece(id, true, bytes);
  if (!base::is_valid_utf8(bytes)) {
    json["bytes"] = Json::array();
    for (const char c : bytes) json["bytes"].push_back(int{static_cast<unsigned char>(c)});
  }
  json["text"] = std::move(bytes);  // dump() makes it valid
}

Json ids_json(std::span<const TokenId> ids) {
  return Json::array_of({ids.begin(), ids.end()});
}

// Small enough for the nearest cache; whole blocks.
constexpr size_t kPiece = 64 * policy::kBlock;

struct PieceSum {
  float largest = -std::numeric_limits<float>::infinity();
  double sum = 0;  // of e^(x - largest)
};

// Also writes the largest of each block.
PieceSum sum_of_piece(std::span<const float> piece, const kernels::Table& table,
                      float* block_largest) {
  const size_t blocks = policy::largest_of_blocks(piece, block_largest);
  const float largest = *std::max_element(block_largest, block_largest + blocks);
  if (largest == -std::numeric_limits<float>::infinity()) return {};
  return {largest, table.exp_sum(piece.data(), largest, static_cast<int64_t>(piece.size()))};
}

// The `count` largest, the lowest id first among equals. Only blocks whose largest reaches the
// count-th largest of all blocks can hold one.
std::vector<TokenId> largest_ids(std::span<const float> row, std::span<const float> block_largest,
                                 size_t count) {
  // The largest so far, the least of them first. With fewer blocks than entries wanted any entry
  // may be one, and minus infinity stays.
  std::vector<float> most(count, -std::numeric_limits<float>::infinity());
  for (const float largest : block_largest) {
    if (!(largest > most[0])) continue;
    std::pop_heap(most.begin(), most.end(), std::greater<>());
    most.back() = largest;
    std::push_heap(most.begin(), most.end(), std::greater<>());
  }
  const float least = most[0];
  std::vector<TokenId> ids;
  for (size_t block = 0; block < block_largest.size(); ++block) {
    if (!(block_largest[block] >= least)) continue;
    const size_t end = std::min((block + 1) * policy::kBlock, row.size());
    for (size_t i = block * policy::kBlock; i < end; ++i) {
      const bool is_there = row[i] >= least && row[i] > -std::numeric_limits<float>::infinity();
      if (is_there) ids.push_back(static_cast<TokenId>(i));
    }
  }
  std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
    return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
  });
  ids.resize(std::min(count, ids.size()));
  return ids;
}

}  // namespace

std::string prefix_sha256(std::span<const TokenId> ids) {
  std::vector<std::byte> bytes;
  bytes.reserve(ids.size() * 4);
  for (const TokenId id : ids) {
    const auto value = static_cast<uint32_t>(id);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(std::byte(value >> shift & 0xff));
  }
  return base::sha256_hex(bytes);
}

TraceRow trace_row(std::span<const float> row, int top, const kernels::Table& table,
                   base::TaskPool& pool) {
  TraceRow kept;
  std::vector<float> block_largest((row.size() + policy::kBlock - 1) / policy::kBlock);
  const auto pieces = static_cast<int64_t>((row.size() + kPiece - 1) / kPiece);
  std::vector<PieceSum> sums(static_cast<size_t>(pieces));
  // The digest is one piece of work, as long as many: it begins first.
  pool.run(pieces + 1, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      if (i == 0) {
        kept.digest = base::xxh3_128(std::as_bytes(row));
      } else {
        const size_t first = static_cast<size_t>(i - 1) * kPiece;
        sums[static_cast<size_t>(i - 1)] =
            sum_of_piece(row.subspan(first, std::min(kPiece, row.size() - first)), table,
                         block_largest.data() + first / policy::kBlock);
      }
    }
  });
  const size_t wanted = std::max<size_t>(static_cast<size_t>(top), 2);  // the gap needs two
  std::vector<TokenId> ids = largest_ids(row, block_largest, wanted);
  if (ids.empty()) return kept;
  const double largest = row[static_cast<size_t>(ids[0])];
  if (ids.size() > 1) kept.gap = largest - double{row[static_cast<size_t>(ids[1])]};
  double total = 0;
  for (const PieceSum& piece : sums) {
    total += piece.sum * policy::exact_exp(double{piece.largest} - largest);
  }
  ids.resize(std::min<size_t>(ids.size(), static_cast<size_t>(top)));
  for (const TokenId id : ids) {
    const float logit = row[static_cast<size_t>(id)];
    kept.top.push_back({id, logit, policy::exact_exp(double{logit} - largest) / total});
  }
  return kept;
}

std::string header_line(const TraceHeader& header) {
  Json json;
  json["kind"] = "header";
  json["pawl_trace"] = kTraceSchema;
  json["pawl"] = header.pawl_version;
  json["model"] = header.model;
  json["model_sha256"] = header.model_sha256;
  json["tokenizer"] = header.tokenizer;
  json["isa"] = header.isa;
  json["precision"] = header.is_reference ? "reference" : "fast";
  json["kv_type"] = header.kv_type;
  json["adapters"] = Json::array();
  for (const TraceAdapter& adapter : header.adapters) {
    Json one;
    one["path"] = adapter.path;
    one["sha256"] = adapter.sha256;
    one["scale"] = static_cast<double>(adapter.scale);
    json["adapters"].push_back(std::move(one));
  }
  json["threads"] = header.threads;
  json["seed"] = header.policy.seed;
  json["policy"] = policy_json(header.policy);
  json["prompt_ids"] = ids_json(header.prompt);
  if (!header.prompt_texts.empty()) {
    json["prompt_texts"] = Json::array_of({header.prompt_texts.begin(), header.prompt_texts.end()});
  }
  return json.dump();
}

std::string step_line(const TraceStep& step, const text::Tokenizer& tokenizer) {
  Json json;
  json["step"] = step.step;
  json["kind"] = step.is_prefill ? "prefill" : "decode";
  json["prefix_len"] = step.prefix_len;
  json["prefix_sha256"] = step.prefix_sha256;
  json["inputs"] = ids_json(step.inputs);
  json["selected"] = Json();
  if (step.selected) {
    Json& selected = json["selected"];
    selected["id"] = int64_t{*step.selected};
    add_text(selected, tokenizer, *step.selected);
  }
  json["top"] = Json::array();
  if (step.row) {
    for (const TopToken& token : step.row->top) {
      Json entry;
      entry["id"] = int64_t{token.id};
      add_text(entry, tokenizer, token.id);
      entry["logit"] = token.logit;
      entry["p"] = token.p;
      json["top"].push_back(std::move(entry));
    }
  }
  json["gap"] = step.row ? Json(step.row->gap) : Json();
  json["logits_digest"] = step.row ? Json(step.row->digest) : Json();
  json["forward_us"] = step.forward_us;
  json["policy_us"] = step.policy_us;
  return json.dump();
}

std::string end_line(const TraceEnd& end) {
  Json json;
  json["kind"] = "end";
  json["passes"] = end.passes;
  json["prefill_passes"] = end.prefill_passes;
  json["selected"] = end.selected;
  json["finish_reason"] = end.finish_reason;
  return json.dump();
}

}  // namespace pawl::probe
