"""Conversations out of a file: our own export, ChatGPT's and Claude's, taken in by a worker, each once.

json_stream.py splits a JSON file, unpack.py finds the JSON in an upload, formats.py tells the formats apart (own.py,
chatgpt.py, claude.py), create.py writes the rows, jobs.py does it step by step and says how far it is.
"""
