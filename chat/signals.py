"""The lifecycle signals of conversations, for other apps to receive.

Every signal but `sessions_ended`, `session_imported` and `session_handed_over` is sent after COMMIT: by lifecycle.py,
presence.py or branches.py of `chat/conversations/`, by `chat/routes/renewal.py`, or by `chat/turns/running.py`.
`sender` is the ChatSession class. All but `sessions_ended` carry `user` and `session`, a ChatSession (None where
noted).
"""

from django.dispatch import Signal

# The person opened another existing session: `session` is the one left, `to` the one opened.
session_switched = Signal()
# Sessions were ended: `sessions`, of one person or of many, and `reason` (end, archive, new, reset; daily or idle when
# routes go on in new conversations by themselves). Sent inside the transaction that ends them, so that a crash does not
# lose what receivers store; one that fails rolls back its own changes alone.
sessions_ended = Signal()
# The session was deleted: `session`.
session_deleted = Signal()
# The person's last socket closed a while ago: `session` was open in it (or None).
user_left = Signal()
# A reconnect found a new local day: `session` was the current one (or None), `previous`, `today` (dates).
day_changed = Signal()
# A turn reached its end: `session`, `turn`.
turn_finished = Signal()
# Another branch is shown, with nothing new said: `session`. Sent by chat/conversations/branches.py.
branch_shown = Signal()
# The session was shared with the members of its space, or is private again: `session`. `user` is who began it. Sent by
# chat/conversations/shared/share.py.
session_shared = Signal()
# A conversation, or messages of one, were imported from a file: `session`, and `after_seq`, the number of the message
# before these. Sent by chat/transfer/importing inside the transaction that stores them, so that they become visible
# together with what a receiver writes; a receiver that raises rolls it back.
session_imported = Signal()
# The owner of a conversation is another person now: `session`, and `user`, that person. Sent by
# chat/transfer/leaving.py inside the transaction, and after the row has changed; a receiver that raises rolls it back.
session_handed_over = Signal()
