"""The pages of what a person sets for their memory: switches.py its parts, instructions.py how to answer, and looks.py
which admins have opened it."""
