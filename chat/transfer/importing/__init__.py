"""Import of conversations from a file: an export of OneClaw or of another program, read by a worker, each once.

json_stream.py splits a JSON file, unpack.py finds the JSON in an upload, formats.py tells the formats apart (own.py,
chatgpt.py, claude.py, open_webui.py, librechat.py), create.py writes the rows, jobs.py does it step by step and says
how far it is.
"""
