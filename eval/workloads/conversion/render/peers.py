#!/usr/bin/env python3
"""Converts one PDF to Markdown with a peer, as it comes: `peers.py pymupdf4llm|kreuzberg|markitdown FILE`.

In an environment with that peer: score.py OUT/scored --command 'peers/bin/python peers.py pymupdf4llm {file}'
"""
import sys


def markdown(peer, path):
    match peer:
        case "pymupdf4llm":
            import pymupdf4llm

            return pymupdf4llm.to_markdown(path)
        case "kreuzberg":
            import kreuzberg

            return kreuzberg.extract_file_sync(path, config=kreuzberg.ExtractionConfig(output_format="markdown")).content
        case "markitdown":
            import markitdown

            return markitdown.MarkItDown().convert(path).text_content
    sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(markdown(*sys.argv[1:]))
