"""The audit log: who did what that an operator must be able to explain, append-only and chained by hashes."""
