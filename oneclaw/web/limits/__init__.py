"""Limit what one person's requests use of a process, before Django knows whose they are."""
