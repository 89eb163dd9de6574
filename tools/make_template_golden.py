#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/chat/features.json: templates that use what templates of model makers use, with what
jinja2 makes of them, set up as the transformers library does (block trimming, loop controls, tojson without
escapes, raise_exception). Needs jinja2.  usage: make_template_golden.py OUT.json"""
import datetime
import json
import sys

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

MOMENT = 1709251199  # 2024-02-29 23:59:59, taken as local time


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise TemplateError(message)


def strftime_now(pattern):
    return datetime.datetime.fromtimestamp(MOMENT, datetime.timezone.utc).strftime(pattern)


ENV = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
ENV.filters["tojson"] = tojson
ENV.globals["raise_exception"] = raise_exception
ENV.globals["strftime_now"] = strftime_now

CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": [2.5, None, True], "c": "é\"'<"}}}]}
TALK = [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Hi!\n"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello <b>&amp;</b>"},
        {"role": "user", "content": "  'quoted' \"text\" 你好 😀 "}]
TOOLS = [{"type": "function", "function": {"name": "add", "description": "Adds", "parameters": {
    "type": "object", "properties": {"z": {"type": "number", "default": 1e-05}, "a": {"type": ["string", "null"]}}}}}]

TEMPLATES = {
    "loop variables": "{% for m in messages %}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ m.role }}{% if not loop.last %},{% endif %}{% endfor %}",
    "reasoning taken off": "{% for m in messages %}{% set c = m['content'] %}{% if '</think>' in c %}{% set c = c.split('</think>')[-1].lstrip('\\n') %}{% endif %}[{{ m.role }}]{{ c }}\n{% endfor %}",
    "namespace and reverse": "{% set ns = namespace(last=-1) %}{% for m in messages[::-1] %}{% if ns.last == -1 and m.role == 'user' %}{% set ns.last = (messages|length - 1) - loop.index0 %}{% endif %}{% endfor %}{{ ns.last }}",
    "macro with a default": "{%- macro say(role, text='none') -%}<{{ role|upper }}>{{ text|trim }}</{{ role|upper }}>{%- endmacro -%}{% for m in messages %}{{ say(m.role, m.content) }}{{ say(m.role) }}{% endfor %}",
    "filters": "{{ messages|map(attribute='role')|join('/') }} {{ messages|selectattr('role','equalto','user')|list|length }} {{ messages|rejectattr('role','equalto','user')|map(attribute='role')|list }} {{ (messages|first).role|capitalize }} {{ messages[-1].content|length }} {{ 'a b'|title }} {{ [3,1,2]|sort|join }} {{ {'b':1,'a':2}|dictsort }} {{ 'x'|default('y') }} {{ nothing|default('y') }} {{ '<&>'|e }} {{ 3.7|int }} {{ '12'|int + 1 }} {{ [1,2]|sum }} {{ 'abc'|replace('b','') }} {{ 'ab'|indent(2, true) }}",
    "tests": "{{ messages is defined }}{{ tools is none }}{{ nothing is defined }}{{ 'x' is string }}{{ messages is iterable }}{{ messages[0] is mapping }}{{ messages is sequence }}{{ 3 is number }}{{ true is boolean }}{{ 4 is even }}{{ 'a' in 'cat' }}{{ 'role' in messages[0] }}{{ messages[0].content is not none }}",
    "slices and methods": "{% set system = messages[0]['content'] if messages[0]['role'] == 'system' else '' %}{% for m in messages[1:] %}{{ m['content'].strip() }}|{{ m.content.startswith('Hi') }}|{{ m.content.rstrip().endswith('>') }}|{{ m.get('name', 'nobody') }};{% endfor %}{{ system.strip()[3:] }}{{ system.upper() }}{{ 'a,b,c'.split(',', 1) }}{{ 'x'.join(['1','2']) }}{{ 'abcabc'.find('c') }}{{ 'abcabc'.count('b') }}{{ ' a '.replace(' ', '') }}{{ 'tItle me'.title() }}",
    "tools as JSON": "{{ tools | tojson }}\n{{ tools | tojson(indent=4) }}\n{% for t in tools %}{% for k, v in t.function.parameters.properties.items() %}{{ k }}: {{ v.type }} {{ v | tojson(separators=(',', ':')) }}\n{% endfor %}{% endfor %}",
    "tool calls": "{% for m in messages %}{% for c in m.tool_calls or [] %}{% set f = c.function %}{{ {'name': f.name, 'arguments': f.arguments} | tojson }} {% for k in f.arguments %}{{ k }}={{ f.arguments[k] }},{% endfor %}{{ f.arguments }}{% endfor %}{% endfor %}",
    "loop controls": "{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}{{ m.content }}{% if loop.index > 2 %}{% break %}{% endif %}{% endfor %}",
    "raise": "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported, got ' + messages[0].role) }}{% endif %}x",
    "alternation": "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}{% endfor %}",
    "date": "{{ strftime_now('%d %b %Y') }} {{ strftime_now('%A, %B %d, %Y %H:%M:%S') }}",
    "whitespace control": "  {% if true %}\n    a\n  {%- endif %}\n  b  {#- c -#}  d\n\n{{- '  e' -}}\n f\n{%+ if true %} g{% endif %}\nh\n",
    "numbers and none": "{{ 1 / 2 }} {{ 7 // 2 }} {{ 7 % 4 }} {{ 2 ** 3 }} {{ none }} {{ true }} {{ 1.0 }} {{ [1, 'a', none] }} {{ {'k': 'v'} }} {{ 'a' ~ 1 ~ none }} {{ 1 if false }}|",
    "conditions": "{{ 'y' if tools else 'n' }}{{ tools or 'no' }}{% if not (tools is defined and tools) %}-{% elif true %}+{% endif %}{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "set block": "{% set text %}{{ messages[0].role }}!{% endset %}{{ text }}{{ text|length }}",
    "call block": "{% macro box() %}[{{ caller() }}]{% endmacro %}{% call box() %}in{% endcall %}",
    "string forms": "{{ '%s-%d'|format('a', 3) }} {{ '{}:{}'.format('a', 1) }} {{ 'a' 'b' }} {{ \"it's\" }} {{ 'tab\\tnew\\nline' }} {{ 'a' * 3 }}",
    "filter block": "{% filter upper %}abc {{ messages[0].role }}{% endfilter %}",
    "nested attribute": "{{ messages[0]['role'] }}{{ messages[0].missing }}{% if messages[0].missing is not defined %}!{% endif %}{{ messages|map(attribute='name')|list|length }}{{ messages[0].get('x') }}",
}
CASES = [(name, TALK if "tool" not in name else [{"role": "user", "content": "1+2?"}, CALL],
          TOOLS if "tools" in name or name == "conditions" else None) for name in TEMPLATES]


def main():
    rows = []
    for name, messages, tools in CASES:
        row = {"name": name, "template": TEMPLATES[name], "messages": messages, "tools": tools}
        try:
            row["rendered"] = ENV.from_string(TEMPLATES[name]).render(
                messages=messages, tools=tools, add_generation_prompt=True, bos_token="<s>", eos_token="</s>")
        except TemplateError as error:
            row["error"] = error.message
        rows.append(row)
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    print(f"{len(rows)} cases, moment {MOMENT}")


if __name__ == "__main__":
    main()
