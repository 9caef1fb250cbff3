"""The pages of memory about shared spaces."""
