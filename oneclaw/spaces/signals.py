"""The signals of spaces, for other apps to receive. `sender` is the Space class."""

from django.dispatch import Signal

# Roles in a space were given, changed or lost: `space_id`, and `user_ids`, a frozenset of the people concerned. A
# receiver reads the rows: who has no SpaceRole any more has lost the space. Sent after COMMIT in the process that
# changed them; other processes get the hint {"kind": "roles", "users": [...]} about the topic `space:<id>`, without
# "users" when there are many.
roles_changed = Signal()
