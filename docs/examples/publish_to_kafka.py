"""Publishes documents to Tributary through Kafka: changes one, deletes another. Needs `pip install confluent-kafka`.

    python publish_to_kafka.py --brokers 127.0.0.1:9092 --topic-prefix tributary
"""

import argparse
import json
import sys
import time
import uuid

from confluent_kafka import KafkaException, Producer


def settings(brokers):
    return {
        "bootstrap.servers": brokers,
        # Acknowledged by all in-sync copies, each record once and in order.
        "enable.idempotence": True,
        # The partition that Java clients and Tributary itself choose for a key. librdkafka's own default is another one; a document
        # whose changes come from producers with different partitioners loses their order.
        "partitioner": "murmur2_random",
        "compression.type": "lz4",
        # Values over 1 MB need this and a topic that takes them; Tributary creates its topics with 16 MiB.
        "message.max.bytes": 16_000_000,
    }


class Documents:
    def __init__(self, brokers, topic_prefix):
        self.producer = Producer(settings(brokers))
        self.topic = f"{topic_prefix}.documents.raw.v1"
        self.refused = []

    def publish(self, event):
        """`event` is a document event; its document_id becomes the record's key."""
        self.send(event["document_id"], json.dumps(event, ensure_ascii=False).encode(), [])

    def delete(self, document_id, version):
        """A null value deletes. It has no body that could say its version, so a header does."""
        self.send(document_id, None, [("tributary_document_version", str(version))])

    def send(self, key, value, headers):
        # All headers may be left out. CloudEvents, binary mode:
        headers = headers + [
            ("ce_specversion", "1.0"),
            ("ce_id", str(uuid.uuid4())),
            ("ce_type", "tributary.document.published.v1"),
            ("ce_source", "publish_to_kafka.py"),
            ("ce_subject", key),
            ("content-type", "application/json"),
        ]
        while True:
            try:
                self.producer.produce(self.topic, key=key, value=value, headers=headers, on_delivery=self.delivered)
                break
            except BufferError:  # the local queue is full: let it drain
                self.producer.poll(0.1)
        self.producer.poll(0)

    def delivered(self, error, message):
        if error is not None:
            self.refused.append((message.key().decode(), error))

    def finish(self):
        """Only what was delivered without an error is published."""
        left = self.producer.flush(60)
        return left, self.refused


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", default="127.0.0.1:9092")
    arguments.add_argument("--topic-prefix", default="tributary")
    arguments = arguments.parse_args()
    documents = Documents(arguments.brokers, arguments.topic_prefix)
    now_ms = time.time_ns() // 1_000_000
    documents.publish({
        "document_id": "handbook:tilt",
        "version": now_ms,
        "source": "handbook",
        "source_path": "radio/tilt.md",
        "title": "Antenna tilt",
        "media_type": "text/markdown",
        "content": "# Antenna tilt\n\nThe tilt of sector 3 is 6 degrees.",
        "attributes": {"product": "RRU5900", "language": "en"},
    })
    documents.delete("handbook:withdrawn", now_ms)
    left, refused = documents.finish()
    for key, error in refused:
        print(f"{key}: {error.str()}", file=sys.stderr)
    if left or refused:
        raise SystemExit(f"{left} records were not confirmed and {len(refused)} were refused: publish them again")
    print("published handbook:tilt, deleted handbook:withdrawn")


if __name__ == "__main__":
    try:
        main()
    except KafkaException as error:
        raise SystemExit(f"kafka: {error}") from error
