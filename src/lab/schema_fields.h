// SPDX-License-Identifier: Apache-2.0
// The fields of an output schema, and schemas with a field left out, moved, bounded or renamed.
// What is asked of a model is changed here, nothing else: a field that another keyword than
// `properties` and `required` speaks of stays spoken of there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lab/answer_fields.h"

namespace pawl::lab {

struct SchemaField {
  FieldPath path;
  base::Json schema;         // references followed; of `anyOf` with null, the other branch
  bool is_required = false;  // by its object
  size_t position = 0;       // among the members of its object
};
// All fields down to kFieldDepth, each behind the field it is in. Errors of schema::Document for
// what is no schema, `where` the path; kUnsupported for a schema whose answers are no objects.
base::Result<std::vector<SchemaField>> fields_of_schema(const base::Json& schema);

// The schema with what `edit` makes of the object that holds the members below `parent` ({}: the
// root). References on the way are replaced by what they name, there alone. Error kUnsupported for
// a reference with other keywords beside it, kInvalidArgument where there is no such object.
using SchemaEdit = std::function<base::Json(const base::Json& object)>;
base::Result<base::Json> with_object(const base::Json& schema, const FieldPath& parent,
                                     const SchemaEdit& edit);
// The same of one field's schema.
base::Result<base::Json> with_field(const base::Json& schema, const FieldPath& field,
                                    const SchemaEdit& edit);

// Errors as with_object(), and kInvalidArgument for a field that is not there, or the last of its
// object: an empty object answers nothing.
base::Result<base::Json> without_field(const base::Json& schema, const FieldPath& field);
// `names` come in that order, the other members where they are: behind them.
base::Result<base::Json> with_order(const base::Json& schema, const FieldPath& parent,
                                    const std::vector<std::string>& names);
base::Result<base::Json> renamed(const base::Json& schema, const FieldPath& field,
                                 const std::string& name);

// Whether members may come that no keyword names, in the object of this schema.
bool is_open(const base::Json& object);
// The same object without them.
base::Json closed(const base::Json& object);
// `key` set to `value`, behind the others where it is new.
base::Json with_keyword(const base::Json& object, std::string_view key, base::Json value);

}  // namespace pawl::lab
