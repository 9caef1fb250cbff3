"""The limits of skills: how large one may be, and how many one source may have."""

# The text of all files of one skill, in UTF-8, and their number.
SKILL_MAX_BYTES, SKILL_MAX_FILES = 1024 * 1024, 100
# The skills of a space, or of the server's folder, that are looked at.
SKILLS_MAX_COUNT = 200
# What the model is sent of a skill's instructions, or of one of its files.
READ_MAX_CHARS = 20_000
