"""Skills: instructions for certain tasks, which the model reads when a task needs them.

A skill is a folder with a file SKILL.md after the specification of agentskills.io: documents below skills/ of a space,
or files of the server's folder ONECLAW_SKILLS. parsing.py reads one, catalogue.py finds all of a person, approval.py
says which of them the person lets the model use, choosing.py which of many fit a message, offering.py what of them the
model is sent. importing.py brings a folder or a zip file in.
"""
