"""What may be done with spaces and groups: make, members, ownership, archive, delete, and who can see what."""
