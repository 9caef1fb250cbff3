"""Provenance: which lines of memory went into an answer, what it saved, and what the person says about them."""
