"""faiss SQ8 flat on the vectors of the search_index bench: one thread, CPU time, k = 1500.

Run, from the workspace root, after `cargo bench -p tributary-store --bench search_index` has written its vectors:
    python3 -m venv target/faiss && target/faiss/bin/pip install faiss-cpu numpy
    target/faiss/bin/python store/benches/peer_faiss.py target/search-index-vectors.f32
The last 100 rows are the queries, as in the bench. Ours should be at least 3 times faster.
"""

import sys
import time

import faiss
import numpy

DIMENSIONS, QUERIES, LIMIT = 384, 100, 1500

faiss.omp_set_num_threads(1)
rows = numpy.fromfile(sys.argv[1], dtype="<f4").reshape(-1, DIMENSIONS)
corpus, queries = rows[:-QUERIES], rows[-QUERIES:]
flat = faiss.IndexFlatIP(DIMENSIONS)
flat.add(corpus)
index = faiss.IndexScalarQuantizer(DIMENSIONS, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
index.train(corpus)
index.add(corpus)
times, recalls = [], []
for place in range(QUERIES):
    start = time.process_time()
    _, found = index.search(queries[place : place + 1], LIMIT)
    times.append((time.process_time() - start) * 1e3)
    if place < 10:
        _, exact = flat.search(queries[place : place + 1], LIMIT)
        recalls.append(len(set(found[0]) & set(exact[0])) / LIMIT)
print(f"faiss {faiss.__version__} SQ8 flat, {len(corpus)} x {DIMENSIONS}: {numpy.median(times):.2f} ms CPU p50, recall {numpy.mean(recalls):.4f}")
