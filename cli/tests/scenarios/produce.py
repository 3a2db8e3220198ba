"""Puts document events on Kafka as docs/producing.md says: one JSON line on stdin for each record, one JSON line on stdout for its outcome."""
import json
import sys
import uuid

from confluent_kafka import Producer

brokers, topic = sys.argv[1:3]
producer = Producer({"bootstrap.servers": brokers, "enable.idempotence": True, "message.max.bytes": 33554432})


def report(number):
    def delivered(error, message):
        print(json.dumps({"record": number, "error": error.str() if error else None}), flush=True)

    return delivered


for number, line in enumerate(sys.stdin):
    record = json.loads(line)
    value = record.get("value")
    if record.get("size"):
        value = value.replace("{filler}", "x " * (record["size"] // 2))
    headers = {
        "ce_specversion": "1.0",
        "ce_id": str(uuid.uuid4()),
        "ce_source": "urn:example:producer",
        "ce_type": "tributary.document.published.v1",
        "content-type": "application/json",
        **record.get("headers", {}),
    }
    headers = [(name, text.encode()) for name, text in headers.items() if text is not None]
    try:
        key = record.get("key")
        producer.produce(topic, value=None if value is None else value.encode(), key=None if key is None else key.encode(), headers=headers, on_delivery=report(number))
    except Exception as error:
        print(json.dumps({"record": number, "error": str(error)}), flush=True)
producer.flush(60)
