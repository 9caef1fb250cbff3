"""The libraries of spaces: files that people put there, read page by page, indexed and searched apart from memory."""
