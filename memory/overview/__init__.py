"""Show a person their memory: entries by topic, days, and what it was in the past. All is derived from documents."""
