// SPDX-License-Identifier: Apache-2.0
// Sets of schemas, taken apart by the expander, as nodes of a grammar; its parts are
// array_writer.cc and object_writer.cc. Used by json_grammar.cc.
#pragma once

#include <map>
#include <vector>

#include "base/result.h"
#include "grammar/form.h"
#include "grammar/repeat_guard.h"
#include "schema/expand.h"

namespace pawl::grammar {

// Threads: none. expander and form outlive it.
class JsonWriter {
 public:
  JsonWriter(schema::Expander& expander, Form& form) : expander_(expander), form_(form) {}

  // The node of what obeys; written out by finish().
  base::Result<FormNode> value(schema::NodeId node);
  // Writes what was asked for, and what that asks for. Errors as of Expander::expand.
  base::Result<void> finish();

  bool has_unique_items() const { return has_unique_; }
  // What repetition there must not be, of all that was written from `root`. REQUIRES: finish()
  base::Result<GuardShapes> shapes(schema::NodeId root);

 private:
  // Places times counts, of one array or object.
  static constexpr int64_t kMaxStates = 50'000;

  using ObjectPart = schema::ObjectPart;
  using Kinds = std::vector<ObjectPart::Extra>;

  base::Result<FormNode> written(schema::NodeId node);
  base::Result<FormNode> array(const schema::ArrayPart& part, schema::NodeId owner);
  base::Result<FormNode> prefixed(const schema::ArrayPart& part, FormNode open, FormNode close);
  base::Result<FormNode> object(const ObjectPart& part, schema::NodeId owner);
  base::Result<FormNode> with_one_of(ObjectPart part, std::vector<Kinds> wanted,
                                     schema::NodeId owner);
  // wanted: kinds of members beside the named ones; one of each must be there.
  base::Result<FormNode> with_members(const ObjectPart& part, const std::vector<Kinds>& wanted,
                                      schema::NodeId owner);
  base::Result<std::vector<FormNode>> members_of_all(const std::vector<Kinds>& wanted);
  // JSON texts, when the node has a list of values; else nothing.
  base::Result<std::vector<std::string>> value_list(schema::NodeId node);
  base::Result<FormNode> member(const schema::Language& name, schema::NodeId node);
  // `item` so many times with commas between, and one before when others came before it.
  FormNode list(FormNode item, bool has_before, int64_t least, std::optional<int64_t> most);
  base::Error refused(schema::NodeId owner, std::string_view keyword, std::string_view what) const;

  schema::Expander& expander_;
  Form& form_;
  std::map<schema::NodeId, FormNode> values_;
  std::vector<schema::NodeId> waiting_;
  bool has_unique_ = false;
};

}  // namespace pawl::grammar
