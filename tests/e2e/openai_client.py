# SPDX-License-Identifier: Apache-2.0
"""What a user of the openai package does, against the server at argv[1] with the chat model argv[2]. Run by
server_clients_test.py with an interpreter that has the package; ends with 0 if all held."""

import sys

import openai

url, model = sys.argv[1:3]
client = openai.OpenAI(base_url=url + "/v1", api_key="a-key-of-the-test", max_retries=0)
chat = {"model": model, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8, "temperature": 0,
        "extra_body": {"ignore_eos": True}}


def check(condition, *what):
    if not condition:
        raise SystemExit(f"it did not hold: {what}")


def check_raises(kind, word, call):
    try:
        call()
    except kind as error:
        check(word in str(error), word, error)
        return error
    raise SystemExit(f"no {kind.__name__}")


check([m.id for m in client.models.list()] == [model])
check(client.models.retrieve(model).id == model)

whole = client.chat.completions.create(**chat)
check(whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 8, whole)
check(whole.choices[0].message.role == "assistant")

text, usage = "", None
for chunk in client.chat.completions.create(**chat, stream=True, stream_options={"include_usage": True}):
    if chunk.choices:
        text += chunk.choices[0].delta.content or ""
    usage = chunk.usage or usage
check(text == whole.choices[0].message.content, text, whole)
check((usage.prompt_tokens, usage.completion_tokens) == (whole.usage.prompt_tokens, 8), usage)

several = client.chat.completions.create(**{**chat, "temperature": 1}, n=3, seed=1)
check([c.index for c in several.choices] == [0, 1, 2])

probable = client.chat.completions.create(**chat, logprobs=True, top_logprobs=2)
first = probable.choices[0].logprobs.content[0]
check(len(first.top_logprobs) == 2 and first.logprob <= 0 and first.bytes is not None, first)

tool = {"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}}}}
with_tools = client.chat.completions.create(**chat, tools=[tool], tool_choice="auto")
check(with_tools.choices[0].finish_reason == "length")

answer = client.chat.completions.with_raw_response.create(**chat)
check(answer.headers["x-request-id"].startswith("req-"))

done = client.completions.create(model=model, prompt="one two", max_tokens=4, temperature=0, logprobs=1, echo=True)
check(done.choices[0].text.startswith("one two") and done.choices[0].logprobs.token_logprobs[0] is None, done)
pieces = [c.choices[0].text for c in client.completions.create(model=model, prompt=["a", "b"], max_tokens=4, stream=True)]
check(len(pieces) >= 2)

check_raises(openai.BadRequestError, "temperature", lambda: client.chat.completions.create(**{**chat, "temperature": 999}))
check_raises(openai.BadRequestError, "response_format",
             lambda: client.chat.completions.create(**chat, response_format={"type": "made-up"}))
error = check_raises(openai.NotFoundError, "other", lambda: client.chat.completions.create(**{**chat, "model": "other"}))
check(error.code == "model_not_found" and error.param == "model", error)
check_raises(openai.AuthenticationError, "API key",
             lambda: client.with_options(api_key="wrong-key-here").models.list())
# Before the first event a deadline is a status; in mid-stream it is an event, which the client raises.
slow = {**chat, "max_tokens": 200, "n": 40, "stream": True, "extra_body": {"ignore_eos": True, "timeout": 0.3}}
check_raises(openai.APIError, "timeout", lambda: list(client.chat.completions.create(**slow)) and
             list(client.chat.completions.create(**{**slow, "extra_body": {"ignore_eos": True, "timeout": 0.001}})))
print("all held")
