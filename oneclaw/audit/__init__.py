"""The audit log: who did what that somebody must be able to answer for, append-only and chained by hashes."""
