"""Drives the server's tools with the official client of the Model Context Protocol.

Arguments: how to connect (`http` or `stdio`), how to negotiate (`auto` or `legacy`), the server's address, the binary.
Fails with the reason where something is not as expected; prints `ok` at the end.
"""

import asyncio
import sys
import time

from mcp import Client, MCPError, StdioServerParameters

TOOLS = ["search", "ask", "search_code", "get_document", "get_section", "list_knowledge_sets", "get_table", "query_table", "judge_answer"]

TRANSPORT, MODE, SERVER, BINARY = sys.argv[1:5]


def client():
    """A connection of its own."""
    if TRANSPORT == "http":
        return Client(f"{SERVER}/mcp", mode=MODE)
    return Client(StdioServerParameters(command=BINARY, args=["mcp", "--server", SERVER]), mode=MODE)


def check(condition, *about):
    if not condition:
        raise AssertionError(about)


async def call(session, tool, **arguments):
    """What a call that succeeds gives; the client checks it against the tool's schema."""
    result = await session.call_tool(tool, arguments)
    check(not result.is_error, tool, result)
    check(result.content[0].text, tool, result)
    return result.structured_content


async def fails(session, tool, code, **arguments):
    result = await session.call_tool(tool, arguments)
    problem = result.meta["tributary/problem"]
    check(result.is_error and problem["code"] == code, tool, result)
    check(code in result.content[0].text and problem["detail"], tool, result)
    return problem


async def lists(session):
    check(session.server_info.name == "tributary", session.server_info)
    check("cite" in session.instructions, session.instructions)
    tools = (await session.list_tools()).tools
    check([tool.name for tool in tools] == TOOLS, tools)
    templates = (await session.list_resource_templates()).resource_templates
    check(templates[0].uri_template == "tributary://documents/{id}", templates)
    resources = (await session.list_resources()).resources
    names = sorted(resource.name for resource in resources)
    check(names == ["kb/cells.csv", "kb/tilt.md"], names)
    for resource in resources:
        contents = (await session.read_resource(resource.uri)).contents
        check(contents[0].mime_type == "text/markdown" and contents[0].text, contents)


async def every_tool(session):
    found = await call(session, "search", query="antenna tilt degrees", top_k=3)
    hit = found["hits"][0]
    check(hit["source_path"] == "tilt.md" and "degrees" in hit["text"], found)
    none = await call(session, "search", query="tilt", knowledge_sets=[])
    check(none["hits"] == [], none)
    document = await call(session, "get_document", document=hit["document_id"])
    check("eight degrees" in document["text"] and document["outline"], document)
    by_name = await call(session, "get_document", document="kb/tilt.md")
    check(by_name == document, by_name)
    section = await call(session, "get_section", document="kb/tilt.md", section_path=hit["section_path"])
    check("eight degrees" in section["text"], section)
    below = await call(session, "get_section", document="kb/tilt.md", section_path=["Limits"])
    check(below["text"].startswith("## Limits") and "mounted" not in below["text"], below)
    sets = await call(session, "list_knowledge_sets")
    check(sets["documents"] == 2, sets)
    tables = await call(session, "get_table", document="kb/cells.csv", equal={"site": "north"})
    check([row["power"] for row in tables["rows"]] == [20, 30], tables)
    page = await call(session, "get_table", document="kb/cells.csv", limit=1, columns=["power"])
    check(page["rows"] == [{"power": 20}] and page["next"] == 1, page)
    code = await call(session, "search_code", query="tilt")
    check(code["hits"] == [], code)


async def asks(session):
    steps = []

    async def progress(done, total, message):
        steps.append(message)

    result = await session.call_tool("ask", {"question": "How far may an antenna tilt?"}, progress_callback=progress)
    answered = result.structured_content
    check(answered["verdict"] == "answered", result)
    check("[1]" in answered["answer"] and answered["sources"][0]["cited"], answered)
    check("**Sources**" in result.content[0].text, result)
    check("retrieval" in steps and "answer" in steps, steps)


async def refusals(session):
    await fails(session, "search", "invalid")
    await fails(session, "search", "invalid", query=7)
    problem = await fails(session, "search", "unknown_field", query="tilt", topk=1)
    check("top_k" in problem["hint"], problem)
    await fails(session, "search", "unknown_knowledge_set", query="tilt", knowledge_sets=["nowhere"])
    await fails(session, "get_document", "document_not_found", document="nothing")
    await fails(session, "get_table", "invalid", document="kb/cells.csv", columns=["colour"])
    try:
        await session.call_tool("serch", {"query": "tilt"})
        raise AssertionError("a tool that is not there answers")
    except MCPError as error:
        check("did you mean `search`" in str(error), error)
    try:
        await session.read_resource("tributary://documents/nothing")
        raise AssertionError("a resource that is not there answers")
    except MCPError as error:
        check("nothing" in str(error), error)


async def gives_up(session):
    """A call that is given up ends, and the next one is answered."""
    started = time.monotonic()
    try:
        await asyncio.wait_for(session.call_tool("ask", {"question": "How slowly does an antenna tilt?"}), 1)
        raise AssertionError("a slow answer is there")
    except asyncio.TimeoutError:
        pass
    await call(session, "search", query="tilt")
    check(time.monotonic() - started < 10, "the call after one that was given up waits for it")


async def side_by_side():
    """Two clients at once, and several calls of each."""

    async def one(number):
        async with client() as session:
            queries = [f"antenna tilt {number} {turn}" for turn in range(5)]
            found = await asyncio.gather(*(call(session, "search", query=query) for query in queries))
            check(all(answer["hits"] for answer in found), found)

    await asyncio.gather(one(1), one(2))


async def main():
    async with client() as session:
        await lists(session)
        await every_tool(session)
        await asks(session)
        await refusals(session)
        await gives_up(session)
    await side_by_side()
    print("ok")


asyncio.run(asyncio.wait_for(main(), 120))
