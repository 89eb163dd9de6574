// SPDX-License-Identifier: Apache-2.0
#include "text/bundled_templates.h"

namespace pawl::text {
namespace {

struct Row {
  std::string_view name;
  std::string_view source;
};

// A system message has a place of its own, or goes before the first user message. Roles that a
// format does not know are refused in the template.
constexpr Row kRows[] = {
    {"chatml", R"({% for message in messages -%}
{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor -%}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})"},

    {"deepseek", R"({{ bos_token }}
{%- for message in messages -%}
{% if message.role == 'system' %}{{ message.content }}
{%- elif message.role == 'user' %}{{ '<｜User｜>' + message.content }}
{%- elif message.role == 'assistant' %}{{ '<｜Assistant｜>' + message.content + '<｜end▁of▁sentence｜>' }}
{%- else %}{{ raise_exception('the deepseek format has no role ' + message.role) }}{% endif %}
{%- endfor -%}
{% if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %})"},

    {"gemma", R"({{ bos_token }}{% set first = namespace(text='') %}
{%- for message in messages -%}
{% if message.role == 'system' %}{% set first.text = message.content | trim + '\n\n' %}
{%- elif message.role in ['user', 'assistant', 'model'] -%}
{% set role = 'user' if message.role == 'user' else 'model' -%}
{{ '<start_of_turn>' + role + '\n' + first.text + message.content | trim + '<end_of_turn>\n' }}
{%- set first.text = '' -%}
{% else %}{{ raise_exception('the gemma format has no role ' + message.role) }}{% endif %}
{%- endfor -%}
{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %})"},

    {"llama2", R"({% set first = namespace(text='') %}
{%- for message in messages -%}
{% if message.role == 'system' %}{% set first.text = '<<SYS>>\n' + message.content + '\n<</SYS>>\n\n' %}
{%- elif message.role == 'user' %}{{ bos_token + '[INST] ' + first.text + message.content | trim + ' [/INST]' }}{% set first.text = '' %}
{%- elif message.role == 'assistant' %}{{ ' ' + message.content | trim + ' ' + eos_token }}
{%- else %}{{ raise_exception('the llama2 format has no role ' + message.role) }}{% endif %}
{%- endfor %})"},

    {"llama3", R"({{ bos_token }}
{%- for message in messages -%}
{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content | trim + '<|eot_id|>' }}
{%- endfor -%}
{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})"},

    {"mistral", R"({{ bos_token }}{% set first = namespace(text='') %}
{%- for message in messages -%}
{% if message.role == 'system' %}{% set first.text = message.content + '\n\n' %}
{%- elif message.role == 'user' %}{{ '[INST] ' + first.text + message.content + ' [/INST]' }}{% set first.text = '' %}
{%- elif message.role == 'assistant' %}{{ ' ' + message.content | trim + eos_token }}
{%- else %}{{ raise_exception('the mistral format has no role ' + message.role) }}{% endif %}
{%- endfor %})"},

    {"phi", R"({% for message in messages -%}
{{ '<|' + message.role + '|>\n' + message.content + '<|end|>\n' }}
{%- endfor -%}
{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %})"},
};

}  // namespace

std::string_view bundled_template(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.source;
  }
  return {};
}

std::string bundled_template_names() {
  std::string names;
  for (const Row& row : kRows) {
    if (!names.empty()) names += ' ';
    names += row.name;
  }
  return names;
}

}  // namespace pawl::text
