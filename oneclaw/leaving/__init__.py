"""Let people leave: their removal, what proves it, and what prevents it."""
