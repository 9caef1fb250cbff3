"""The pages of skills: pages.py lists and shows them, changes.py writes and approves them, imports.py imports them."""
