"""The official client's helpers.parallel_bulk over records that lie in memory: prints the seconds until they are searchable.

Arguments: address, index, file of records (JSON lines of _id, routing, source), threads, records per request, bytes per request.
"""
import json
import sys
import time

from elasticsearch import Elasticsearch, helpers

address, index, path, threads, size, largest = sys.argv[1:]
with open(path, encoding="utf-8") as lines:
    records = [json.loads(line) for line in lines]
actions = [{"_index": index, "_id": record["_id"], "routing": record["routing"], "_source": record["source"]} for record in records]
client = Elasticsearch(address, request_timeout=60)
client.indices.get(index=index)
begun = time.perf_counter()
for done, item in helpers.parallel_bulk(client, actions, thread_count=int(threads), chunk_size=int(size), max_chunk_bytes=int(largest)):
    assert done, item
client.indices.refresh(index=index)
print(time.perf_counter() - begun)
