"""Provenance: which lines of memory went into an answer, what was saved with it, and what the person says about them."""
