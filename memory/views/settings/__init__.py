"""The pages of what a person sets for their memory: switches.py its parts, instructions.py how to answer, programs.py
which programs use it, and looks.py which admins have opened it."""
