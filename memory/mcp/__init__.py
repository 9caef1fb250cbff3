"""Serve memory to programs of people over the Model Context Protocol, at /mcp.

gate.py admits a request by its key or sign-in, server.py declares the tools, resources and prompts, reading.py and
memory/tools/programs.py carry them out, call.py is the value of one call, and changes.py tells listening programs what
has changed.
The official package `mcp` speaks the protocol, of 2026-07-28 and of the years before it.
"""
