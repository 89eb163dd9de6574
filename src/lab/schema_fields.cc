// SPDX-License-Identifier: Apache-2.0
#include "lab/schema_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/document.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr int kMostReferences = 32;  // in a row: more name one another

bool is_null_schema(const Json& schema) {
  const Json* const type = schema.find("type");
  return type != nullptr && type->as_string() != nullptr && *type->as_string() == "null";
}

// Of {"anyOf": [X, {"type": "null"}]}, as generators of schemas write an optional value: X.
const Json* the_branch(const Json& schema) {
  for (const std::string_view key : {"anyOf", "oneOf"}) {
    const Json* const list = schema.find(key);
    if (list == nullptr || list->as_array() == nullptr) continue;
    const Json* branch = nullptr;
    for (const Json& one : *list->as_array()) {
      if (is_null_schema(one)) continue;
      if (branch != nullptr) return nullptr;
      branch = &one;
    }
    return branch;
  }
  return nullptr;
}

// What a schema at some place says by itself: references followed, the one branch taken.
class Reader {
 public:
  explicit Reader(schema::Document& document) : document_(document) {}

  struct Seen {
    schema::SchemaId id;
    const Json* schema;
  };
  Result<Seen> at(schema::SchemaId id) {
    for (int i = 0; i < kMostReferences; ++i) {
      const Json& schema = document_.at(id);
      const Json* const reference = schema.find("$ref");
      if (reference != nullptr && reference->as_string() != nullptr) {
        PAWL_TRY(id, document_.resolve(id, *reference->as_string()));
      } else if (const Json* const branch = the_branch(schema)) {
        const std::string_view key = schema.find("anyOf") != nullptr ? "anyOf" : "oneOf";
        const Json& list = *schema.find(key);
        const auto index = static_cast<size_t>(branch - list.as_array()->data());
        id = document_.child(document_.child(id, list, key), *branch, std::to_string(index));
      } else {
        return Seen{id, &schema};
      }
    }
    return Error{ErrorCode::kUnsupported, "references that name one another", document_.path(id)};
  }

  // The object whose members an answer has at this place: of an array, that of its items.
  Result<std::optional<Seen>> object_at(schema::SchemaId id) {
    PAWL_TRY(Seen seen, at(id));
    const Json* const items = seen.schema->find("items");
    if (items != nullptr && items->as_object() != nullptr) {
      PAWL_TRY(seen, at(document_.child(seen.id, *items, "items")));
    }
    const Json* const properties = seen.schema->find("properties");
    if (properties == nullptr || properties->as_object() == nullptr ||
        properties->as_object()->empty()) {
      return std::optional<Seen>();
    }
    return std::optional<Seen>(seen);
  }

  Result<void> collect(schema::SchemaId id, const FieldPath& parent,
                       std::vector<SchemaField>& fields) {
    if (parent.size() >= kFieldDepth) return {};
    PAWL_TRY(const auto object, object_at(id));
    if (!object) return {};
    const Json& properties = *object->schema->find("properties");
    const auto list = document_.child(object->id, properties, "properties");
    size_t position = 0;
    for (const auto& [name, value] : *properties.as_object()) {
      const auto child = document_.child(list, value, name);
      PAWL_TRY(const Seen seen, at(child));
      SchemaField field;
      field.path = parent;
      field.path.push_back(name);
      field.schema = *seen.schema;
      field.position = position++;
      if (const Json* const required = object->schema->find("required");
          required != nullptr && required->as_array() != nullptr) {
        for (const Json& one : *required->as_array()) {
          field.is_required =
              field.is_required || (one.as_string() != nullptr && *one.as_string() == name);
        }
      }
      const FieldPath path = field.path;
      fields.push_back(std::move(field));
      PAWL_TRY_VOID(collect(child, path, fields));
    }
    return {};
  }

 private:
  schema::Document& document_;
};

// A copy of `schema` in which the place at `path` is what `edit` makes of it.
class Editor {
 public:
  explicit Editor(const Json& root) : root_(root) {}

  // kObject: the object that holds members, behind the items of an array; kField: the schema
  // itself.
  enum class Target { kObject, kField };

  Result<Json> edit(const Json& schema, const FieldPath& path, size_t from, Target target,
                    const SchemaEdit& change, int depth = 0) {
    if (depth > kMostReferences) {
      return Error{ErrorCode::kUnsupported, "references that name one another", shown_path(path)};
    }
    if (schema.find("$ref") != nullptr) {
      PAWL_TRY(const Json named, inlined(schema, path));
      return edit(named, path, from, target, change, depth + 1);
    }
    const bool is_there = from == path.size();
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      const Json* const branch = the_branch(schema);
      if (branch == nullptr || schema.find(key) == nullptr) continue;
      Json list = Json::array();
      for (const Json& one : *schema.find(key)->as_array()) {
        if (&one != branch) {
          list.push_back(one);
          continue;
        }
        PAWL_TRY(Json changed, edit(one, path, from, target, change, depth + 1));
        list.push_back(std::move(changed));
      }
      return with_keyword(schema, key, std::move(list));
    }
    if (is_there && target == Target::kField) return change(schema);
    if (const Json* const items = schema.find("items");
        items != nullptr && items->as_object() != nullptr) {
      PAWL_TRY(Json changed, edit(*items, path, from, target, change, depth + 1));
      return with_keyword(schema, "items", std::move(changed));
    }
    const Json* const properties = schema.find("properties");
    if (properties == nullptr || properties->as_object() == nullptr) return missing(path);
    if (is_there) return change(schema);
    Json members = Json::object();
    bool is_found = false;
    for (const auto& [name, value] : *properties->as_object()) {
      if (name != path[from]) {
        members[name] = value;
        continue;
      }
      is_found = true;
      PAWL_TRY(members[name], edit(value, path, from + 1, target, change, depth + 1));
    }
    if (!is_found) return missing(path);
    return with_keyword(schema, "properties", std::move(members));
  }

 private:
  static Error missing(const FieldPath& path) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("the schema has no field '{}'", shown_path(path)), "--schema"};
  }

  Result<Json> inlined(const Json& schema, const FieldPath& path) {
    const auto& members = *schema.as_object();
    const bool has_more = std::any_of(members.begin(), members.end(), [](const auto& member) {
      return member.key != "$ref" && member.key != "$defs" && member.key != "definitions" &&
             member.key != "description" && member.key != "title" && member.key != "$schema";
    });
    if (has_more) {
      return Error{ErrorCode::kUnsupported, "a $ref with other keywords beside it",
                   shown_path(path)};
    }
    PAWL_TRY(const auto document, schema::Document::create(root_));
    const Json* const reference = schema.find("$ref");
    if (reference->as_string() == nullptr) {
      return Error{ErrorCode::kInvalidArgument, "$ref is no string", shown_path(path)};
    }
    PAWL_TRY(const auto target, document->resolve(document->root(), *reference->as_string()));
    Json copy = document->at(target);
    // What names definitions by their place finds them there still.
    for (const auto& [key, value] : members) {
      if (key == "$defs" || key == "definitions") copy[key] = value;
    }
    return copy;
  }

  const Json& root_;
};

}  // namespace

Result<std::vector<SchemaField>> fields_of_schema(const Json& schema) {
  PAWL_TRY(auto document, schema::Document::create(schema));
  std::vector<SchemaField> fields;
  PAWL_TRY_VOID(Reader(*document).collect(document->root(), {}, fields));
  if (fields.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "the schema names no fields: its root is to be an object with properties", ""};
  }
  return fields;
}

Result<Json> with_object(const Json& schema, const FieldPath& parent, const SchemaEdit& edit) {
  return Editor(schema).edit(schema, parent, 0, Editor::Target::kObject, edit);
}

Result<Json> with_field(const Json& schema, const FieldPath& field, const SchemaEdit& edit) {
  return Editor(schema).edit(schema, field, 0, Editor::Target::kField, edit);
}

Result<Json> without_field(const Json& schema, const FieldPath& field) {
  const FieldPath parent(field.begin(), field.end() - 1);
  bool is_there = false, is_last = false;
  auto edited = with_object(schema, parent, [&](const Json& object) {
    Json members = Json::object();
    for (const auto& [name, value] : *object.find("properties")->as_object()) {
      if (name == field.back()) {
        is_there = true;
      } else {
        members[name] = value;
      }
    }
    is_last = members.as_object()->empty();
    Json changed = with_keyword(object, "properties", std::move(members));
    if (const Json* const required = object.find("required");
        required != nullptr && required->as_array() != nullptr) {
      Json names = Json::array();
      for (const Json& name : *required->as_array()) {
        if (name.as_string() == nullptr || *name.as_string() != field.back()) names.push_back(name);
      }
      changed = with_keyword(changed, "required", std::move(names));
    }
    return changed;
  });
  if (edited.ok() && (!is_there || is_last)) {
    return Error{ErrorCode::kInvalidArgument,
                 is_there ? fmt::format("'{}' is the only field of its object", shown_path(field))
                          : fmt::format("the schema has no field '{}'", shown_path(field)),
                 "--schema"};
  }
  return edited;
}

Result<Json> with_order(const Json& schema, const FieldPath& parent,
                        const std::vector<std::string>& names) {
  return with_object(schema, parent, [&](const Json& object) {
    const Json& properties = *object.find("properties");
    Json members = Json::object();
    for (const std::string& name : names) {
      if (const Json* const value = properties.find(name)) members[name] = *value;
    }
    for (const auto& [name, value] : *properties.as_object()) {
      if (members.find(name) == nullptr) members[name] = value;
    }
    return with_keyword(object, "properties", std::move(members));
  });
}

Result<Json> renamed(const Json& schema, const FieldPath& field, const std::string& name) {
  const FieldPath parent(field.begin(), field.end() - 1);
  return with_object(schema, parent, [&](const Json& object) {
    Json members = Json::object();
    for (const auto& [old, value] : *object.find("properties")->as_object()) {
      members[old == field.back() ? name : old] = value;
    }
    Json changed = with_keyword(object, "properties", std::move(members));
    if (const Json* const required = object.find("required");
        required != nullptr && required->as_array() != nullptr) {
      Json list = Json::array();
      for (const Json& old : *required->as_array()) {
        const bool is_it = old.as_string() != nullptr && *old.as_string() == field.back();
        list.push_back(is_it ? Json(name) : old);
      }
      changed = with_keyword(changed, "required", std::move(list));
    }
    return changed;
  });
}

bool is_open(const Json& object) {
  for (const std::string_view key : {"additionalProperties", "unevaluatedProperties"}) {
    const Json* const more = object.find(key);
    if (more != nullptr && more->to_bool() == std::optional(false)) return false;
  }
  return true;
}

Json closed(const Json& object) {
  return is_open(object) ? with_keyword(object, "additionalProperties", false) : object;
}

Json with_keyword(const Json& object, std::string_view key, Json value) {
  Json changed = object;
  changed[key] = std::move(value);
  return changed;
}

}  // namespace pawl::lab
