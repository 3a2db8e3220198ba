"""llama.cpp's server as a process: what deploy/services/chat starts. Ends at SIGTERM."""
import argparse
import os
import signal
import threading

import xllamacpp

# Tokens of a prompt that one step takes: the grain in which a prompt can be cancelled and in which other requests get their turn.
BATCH = 256
# Memory for prompts that were read before, in MiB.
CACHE_MIB = 256


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("-D", dest="mark", help="names the instance to whoever looks at the list of processes")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--name", required=True, help="what the server calls it")
    for name in ["port", "slots", "context", "threads"]:
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser.parse_args()


def parameters(given):
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = given.model, {given.name}
    params.hostnames, params.port = ["127.0.0.1"], given.port
    params.n_threads_http = 4 * given.slots + 4
    params.n_parallel, params.n_ctx = given.slots, given.slots * given.context
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = given.threads
    params.cache_ram_mib, params.ui, params.offline = CACHE_MIB, False, True
    params.endpoint_metrics, params.use_jinja = True, True
    return params


def main():
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    server = xllamacpp.Server(parameters(arguments()))
    print("listening on", server.listening_address, flush=True)
    stop.wait()
    # Its threads would be waited for.
    os._exit(0)


main()
