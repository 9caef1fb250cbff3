"""The pages of shared spaces: each fetches a space of the person, calls one thing, and renders."""
