"""Conversations out of a file: our own export, ChatGPT's and Claude's, taken in by a worker, each once.

elements.py splits a JSON file, opening.py finds the JSON in an upload, reading.py tells the formats apart (own.py,
chatgpt.py, claude.py), planting.py writes the rows, jobs.py does it step by step and says how far it is.
"""
