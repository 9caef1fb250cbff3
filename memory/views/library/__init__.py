"""Serve the library: the files of a person or a space."""
