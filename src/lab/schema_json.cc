// SPDX-License-Identifier: Apache-2.0
// A study of a schema as a result file.
#include "lab/schema_study.h"
#include "lab/sweep.h"

namespace pawl::lab {

using base::Json;

namespace {

std::string_view kind_name(VariantKind kind) {
  switch (kind) {
    case VariantKind::kFull:
      return "full";
    case VariantKind::kStripped:
      return "stripped";
    case VariantKind::kWithout:
      return "without";
    case VariantKind::kNotAsked:
      return "not asked";
    case VariantKind::kReordered:
      return "reordered";
  }
  return "";
}

Json paths_json(const std::vector<FieldPath>& paths) {
  Json list = Json::array();
  for (const FieldPath& path : paths) list.push_back(shown_path(path));
  return list;
}

Json optional_estimate(const std::optional<Estimate>& estimate) {
  return estimate ? estimate_json(*estimate) : Json();
}

Json over_bill_json(const std::optional<OverBill>& over) {
  if (!over) return {};
  Json json = estimate_json(over->ratio);
  json["n"] = over->n;
  return json;
}

Json row_json(const BillRow& row, std::string_view name, bool knows_forced) {
  Json json;
  json["path"] = name;
  json["tokens"] = row.tokens;
  json["forced"] = knows_forced ? Json(row.forced) : Json();
  json["chosen"] = knows_forced ? Json(row.tokens - row.forced) : Json();
  json["ms"] = estimate_json(row.ms);
  json["share"] = row.share;
  json["token_share"] = row.token_share;
  return json;
}

Json bill_json(const Bill& bill) {
  Json json;
  json["answers"] = bill.answers;
  json["whole_ms"] = estimate_json(bill.whole_ms);
  json["start_ms"] = estimate_json(bill.start_ms);
  json["end_ms"] = estimate_json(bill.end_ms);
  json["tokens"] = bill.tokens;
  json["end_tokens"] = bill.end_tokens;
  json["estimated_tokens"] = bill.estimated_tokens;
  json["forced_price"] = bill.forced_price;
  json["rows"] = Json::array();
  for (const BillRow& row : bill.rows) {
    json["rows"].push_back(row_json(row, shown_path(row.path), bill.knows_forced));
  }
  json["frame"] = row_json(bill.frame, "", bill.knows_forced);
  json["thinking"] =
      bill.thinking.tokens > 0 ? row_json(bill.thinking, "", bill.knows_forced) : Json();
  return json;
}

Json agreement_json(const Agreement& agreement) {
  Json json;
  json["field"] = shown_path(agreement.field);
  json["n"] = agreement.n;
  json["same"] = agreement.same;
  json["changed"]["share"] = agreement.changed_share();
  json["changed"]["low"] = agreement.changed.low;
  json["changed"]["high"] = agreement.changed.high;
  json["mean_full"] = agreement.mean_full;
  json["mean_here"] = agreement.mean_here;
  return json;
}

Json variant_json(const VariantResult& variant) {
  Json json;
  json["name"] = variant.name;
  json["kind"] = kind_name(variant.kind);
  json["left_out"] = paths_json(variant.left_out);
  json["asked"] = variant.asked;
  json["answers"] = variant.answers;
  json["failed"] = variant.failed;
  json["incomplete"] = variant.incomplete;
  json["no_answer_budget"] = variant.no_answer_budget;
  json["n"] = variant.pairs;
  json["tokens"] = variant.tokens;
  json["bytes"] = variant.bytes;
  json["ms"] = estimate_json(variant.ms);
  json["saved_ms"] = optional_estimate(variant.saved_ms);
  json["saved_share"] = optional_estimate(variant.saved_share);
  json["saved_bytes_share"] = variant.saved_bytes_share;
  json["billed_ms"] = variant.billed_ms;
  json["billed_share"] = variant.billed_share;
  json["over_bill"] = over_bill_json(variant.over_bill);
  json["alike"] = over_bill_json(variant.alike);
  json["at_length"] = over_bill_json(variant.at_length);
  json["rest_tokens"] = variant.rest_tokens;
  json["start_ms"] = variant.start_ms;
  json["agreement"] = Json::array();
  for (const Agreement& one : variant.agreement) json["agreement"].push_back(agreement_json(one));
  json["right"] = Json::array();
  for (const Rightness& one : variant.rightness) {
    Json right;
    right["field"] = shown_path(one.field);
    right["n"] = one.n;
    right["right"] = one.right;
    right["low"] = one.interval.low;
    right["high"] = one.interval.high;
    json["right"].push_back(std::move(right));
  }
  return json;
}

}  // namespace

Json study_json(const StudyPlan& plan, const Study& study, const Json& schema, const Lint* lint,
                const Conditions& conditions) {
  Json json;
  json["kind"] = "schema";
  json["conditions"] = conditions_json(conditions);
  json["schema"] = schema;
  json["prompts"] = study.prompts;
  json["drop"] = paths_json(plan.drop);
  json["drop_because"] = plan.drop_because;
  json["notes"] = Json::array();
  for (const std::string& note : plan.notes) json["notes"].push_back(note);
  json["bill"] = bill_json(study.bill);
  json["self_agreement"] = Json::array();
  for (const Agreement& one : study.self) json["self_agreement"].push_back(agreement_json(one));
  json["variants"] = Json::array();
  for (const VariantResult& one : study.variants) json["variants"].push_back(variant_json(one));
  Json order = Json::array();
  for (const std::string& name : plan.order) order.push_back(name);
  json["order"] = std::move(order);
  json["lint"] = lint != nullptr ? lint_json(*lint) : Json();
  json["verdicts"] = verdicts_json(study.verdicts);
  json["holds"] = !study.has_failed();
  return json;
}

}  // namespace pawl::lab
