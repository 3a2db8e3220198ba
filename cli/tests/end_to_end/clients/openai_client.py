"""Drives the server with OpenAI's official client. Argument: the server's address. Prints `ok` at the end."""

import sys

import openai

SERVER = sys.argv[1]
QUESTION = {"role": "user", "content": "How far may an antenna tilt?"}


def check(condition, *about):
    if not condition:
        raise AssertionError(about)


client = openai.OpenAI(base_url=f"{SERVER}/v1", api_key="none", max_retries=0)

models = [model.id for model in client.models.list()]
check("general" in models and "general@radio" in models, models)
check(client.models.retrieve("general@radio").owned_by == "tributary")

answer = client.chat.completions.create(model="general@radio", messages=[QUESTION], temperature=0.1)
message = answer.choices[0].message
check("[1]" in message.content and "**Sources**" in message.content, message)
check(answer.choices[0].finish_reason == "stop" and answer.usage.total_tokens > 0, answer)
citation = message.annotations[0].url_citation
check(message.content[citation.start_index : citation.end_index] == "[1]", citation)
check(citation.title and citation.url, citation)
check(answer.model_extra["tributary"]["ignored"] == ["temperature"], answer)

# The answer goes back as history, as chat programs send it.
history = [{"role": "system", "content": "Be brief."}, QUESTION, {"role": "assistant", "content": message.content}]
stream = client.chat.completions.create(
    model="general", messages=[*history, QUESTION], stream=True, stream_options={"include_usage": True}
)
chunks = list(stream)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
check("eight degrees" in text.lower() and "**Sources**" in text, text)
check(len(chunks) > 5 and chunks[-1].usage.total_tokens > 0, chunks[-1])
check([chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop", chunks)

for wrong, kind in [
    ({"model": "gpt-4o"}, openai.NotFoundError),
    ({"model": "general@nowhere"}, openai.NotFoundError),
    ({"n": 2}, openai.UnprocessableEntityError),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, openai.UnprocessableEntityError),
    ({"messages": [{"role": "user", "content": ""}]}, openai.BadRequestError),
]:
    try:
        client.chat.completions.create(**{"model": "general", "messages": [QUESTION], **wrong})
        raise AssertionError(wrong)
    except kind as error:
        check(error.code and str(error), error)

print("ok")
