// SPDX-License-Identifier: Apache-2.0
#include "lab/records_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/record_members.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

constexpr std::array<std::string_view, 9> kEventColumns = {"stamp_ns",     "read",   "shared_read",
                                                           "bytes",        "kind",   "text_bytes",
                                                           "answer_bytes", "tokens", "forced"};
// Files without the last column are read too.
constexpr size_t kFewestColumns = 8;

Json event_json(const RawEvent& event) {
  return Json::array_of({event.stamp_ns, int64_t{event.read}, event.shared_read,
                         int64_t{event.bytes}, event_kind_name(event.kind),
                         int64_t{event.text_bytes}, int64_t{event.answer_bytes},
                         event.tokens ? Json(int64_t{*event.tokens}) : Json(),
                         event.forced ? Json(int64_t{*event.forced}) : Json()});
}

Json counts_json(const TokenCounts& counts) {
  Json json;
  json["usage"] = counts.usage;
  json["timings"] = counts.timings;
  json["tokenizer"] = counts.tokenizer;
  return json;
}

Json asked_json(const Asked& asked) {
  Json json;
  json["arm"] = asked.arm;
  json["label"] = asked.label;
  json["repetition"] = asked.repetition;
  json["is_warm_up"] = asked.is_warm_up;
  json["is_stream"] = asked.is_stream;
  json["prompt_tokens"] = asked.prompt_tokens;
  json["output_tokens"] = asked.output_tokens;
  json["cancel_after"] = asked.cancel_after;
  json["prompt_digest"] = asked.prompt_digest;
  return json;
}

void read_counts(Members& record, std::string_view key, TokenCounts& counts) {
  const Json* member = record.find(key);
  if (member == nullptr) return;
  Members members(*member, key);
  members.read_count("usage", counts.usage);
  members.read_count("timings", counts.timings);
  members.read_count("tokenizer", counts.tokenizer);
  record.take(members);
}

void read_asked(Members& record, Asked& asked) {
  const Json* member = record.find("asked");
  if (member == nullptr) return;
  Members members(*member, "asked");
  members.read("arm", asked.arm);
  members.read("label", asked.label);
  members.read_count("repetition", asked.repetition);
  members.read("is_warm_up", asked.is_warm_up);
  members.read("is_stream", asked.is_stream);
  members.read_count("prompt_tokens", asked.prompt_tokens);
  members.read_count("output_tokens", asked.output_tokens);
  members.read_count("cancel_after", asked.cancel_after);
  members.read("prompt_digest", asked.prompt_digest);
  record.take(members);
}

void read_server(Members& record, ServerTimes& times) {
  const Json* member = record.find("server");
  if (member == nullptr) return;
  Members members(*member, "server");
  members.read("queue_ms", times.queue_ms);
  members.read("prefill_ms", times.prefill_ms);
  members.read("decode_ms", times.decode_ms);
  record.take(members);
}

void read_event(Members& record, const Json& row, RawEvent& event) {
  const auto* cells = row.as_array();
  if (cells == nullptr || cells->size() < kFewestColumns || cells->size() > kEventColumns.size()) {
    return record.fail("events", fmt::format("rows of {} cells", kEventColumns.size()));
  }
  const auto& cell = *cells;
  record.read_integer("stamp_ns", cell[0], event.stamp_ns, -Members::kTimeLimit,
                      Members::kTimeLimit);
  record.read_integer("read", cell[1], event.read, 0);
  record.read_integer("bytes", cell[3], event.bytes, 0);
  record.read_integer("text_bytes", cell[5], event.text_bytes, 0);
  record.read_integer("answer_bytes", cell[6], event.answer_bytes, 0);
  const auto shared = cell[2].to_bool();
  if (!shared) return record.fail("shared_read", "true or false");
  event.shared_read = *shared;
  const auto kind = cell[4].as_string() ? parse_event_kind(*cell[4].as_string()) : std::nullopt;
  if (!kind) return record.fail("kind", "a name that is known");
  event.kind = *kind;
  if (!cell[7].is_null()) {
    int32_t tokens = 0;
    record.read_integer("tokens", cell[7], tokens, 0);
    event.tokens = tokens;
  }
  if (cells->size() > kFewestColumns && !cell[8].is_null()) {
    int32_t forced = 0;
    record.read_integer("forced", cell[8], forced, 0);
    event.forced = forced;
  }
}

void read_lists(Members& members, RequestRecord& record) {
  const Json* notes = members.find("notes");
  if (notes == nullptr) return;
  if (notes->as_array() == nullptr) return members.fail("notes", "an array");
  for (const Json& note : *notes->as_array()) {
    if (note.as_string() == nullptr) return members.fail("notes", "strings");
    record.notes.push_back(*note.as_string());
  }
  const Json* events = members.find("events");
  if (events == nullptr) return;
  if (events->as_array() == nullptr) return members.fail("events", "an array");
  for (const Json& row : *events->as_array()) {
    RawEvent event;
    read_event(members, row, event);
    if (members.error()) return;
    record.events.push_back(event);
  }
}

Json notes_json(const RequestRecord& record) {
  Json notes = Json::array();
  for (const std::string& one : record.notes) notes.push_back(one);
  return notes;
}

}  // namespace

Json record_json(const RequestRecord& record) {
  Json json;
  json["index"] = record.index;
  json["id"] = record.id;
  json["asked"] = asked_json(record.asked);
  json["scheduled_ns"] = record.scheduled_ns;
  json["started_ns"] = record.started_ns;
  json["sent_ns"] = record.sent_ns;
  json["closed_ns"] = record.closed_ns;
  json["is_connection_reused"] = record.is_connection_reused;
  json["fresh_retries"] = int64_t{record.fresh_retries};
  json["http_status"] = record.http_status;
  json["state"] = request_state_name(record.state);
  json["failure"] = failure_kind_name(record.failure);
  json["error"] = record.error;
  json["finish_reason"] = record.finish_reason;
  json["has_done"] = record.has_done;
  json["content_encoding"] = record.content_encoding;
  json["retry_after_s"] = record.retry_after_s;
  json["prompt"] = counts_json(record.prompt);
  json["output"] = counts_json(record.output);
  json["cached_tokens"] = record.cached_tokens;
  Json server;
  server["queue_ms"] = record.server.queue_ms;
  server["prefill_ms"] = record.server.prefill_ms;
  server["decode_ms"] = record.server.decode_ms;
  json["server"] = server;
  json["bytes"] = record.bytes;
  json["reads"] = int64_t{record.reads};
  json["text"] = record.text;
  json["reasoning"] = record.reasoning;
  json["text_digest"] = record.text_digest;
  json["notes"] = notes_json(record);
  Json events = Json::array();
  for (const RawEvent& event : record.events) events.push_back(event_json(event));
  json["events"] = std::move(events);
  return json;
}

Result<RequestRecord> parse_record(const Json& value) {
  RequestRecord record;
  Members members(value);
  members.read_count("index", record.index);
  members.read("id", record.id);
  read_asked(members, record.asked);
  members.read_time("scheduled_ns", record.scheduled_ns);
  members.read_time("started_ns", record.started_ns);
  members.read_time("sent_ns", record.sent_ns);
  members.read_time("closed_ns", record.closed_ns);
  members.read("is_connection_reused", record.is_connection_reused);
  members.read_count("fresh_retries", record.fresh_retries);
  members.read_count("http_status", record.http_status);
  members.read_name("state", record.state, parse_request_state);
  members.read_name("failure", record.failure, parse_failure_kind);
  members.read("error", record.error);
  members.read("finish_reason", record.finish_reason);
  members.read("has_done", record.has_done);
  members.read("content_encoding", record.content_encoding);
  members.read("retry_after_s", record.retry_after_s);
  read_counts(members, "prompt", record.prompt);
  read_counts(members, "output", record.output);
  members.read_count("cached_tokens", record.cached_tokens);
  read_server(members, record.server);
  members.read_count("bytes", record.bytes);
  members.read_count("reads", record.reads);
  members.read("text", record.text);
  members.read("reasoning", record.reasoning);
  members.read("text_digest", record.text_digest);
  read_lists(members, record);
  if (members.error()) return *members.error();
  return record;
}

std::string records_header_line(const Json& header) {
  Json json;
  json["pawl_records"] = kRecordsSchema;
  Json columns = Json::array();
  for (const std::string_view name : kEventColumns) columns.push_back(name);
  json["event_columns"] = std::move(columns);
  if (const auto* members = header.as_object()) {
    for (const auto& [key, value] : *members) json[key] = value;
  }
  return json.dump() + '\n';
}

std::string record_line(const RequestRecord& record) {
  return record_json(record).dump() + '\n';
}

Result<RecordsFile> parse_records(std::string_view text) {
  RecordsFile file;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    // Lines are written whole: what has no end was cut off.
    if (end == std::string_view::npos) {
      file.is_cut = true;
      break;
    }
    const std::string where = fmt::format("line {}", number);
    auto json = base::parse_json(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (!json.ok()) return Error{ErrorCode::kBadFile, json.error().message, where};
    if (number == 1) {
      const Json* schema = json->find("pawl_records");
      if (schema == nullptr || schema->to_int64() != kRecordsSchema) {
        return Error{ErrorCode::kBadFile,
                     fmt::format("no header of records, 'pawl_records': {}", kRecordsSchema),
                     where};
      }
      file.header = std::move(json).value();
      continue;
    }
    auto record = parse_record(*json);
    if (!record.ok()) return Error{ErrorCode::kBadFile, record.error().message, where};
    file.records.push_back(std::move(record).value());
  }
  if (file.header.is_null()) return Error{ErrorCode::kBadFile, "no header of records", "line 1"};
  return file;
}

}  // namespace pawl::lab
