"""How many sub-sessions and relayed messages one person's conversations may begin. Settings limit depth and tokens."""

# Sub-sessions of a person that run at once, of one turn, and of one of the person's days.
RUNNING_MAX_COUNT, TURN_MAX_COUNT, DAY_MAX_COUNT = 3, 8, 20
# Seconds that a call may wait for a sub-session, and for the answer to a relayed message.
SPAWN_WAIT_MAX_SECONDS, SEND_WAIT_MAX_SECONDS = 120, 60
# A task, what its conversation is sent of its result, and a relayed message.
TASK_MAX_CHARS, RESULT_MAX_CHARS, RELAYED_MAX_CHARS = 8_000, 4_000, 8_000
# How many conversations a message may pass, one after another, since a person's message.
HOPS_MAX_COUNT = 3
# Messages that a person's conversations may send one another in so many seconds.
RELAYED_MAX_COUNT, RELAYED_WINDOW_SECONDS = 5, 60
# How long a relayed message waits for a conversation in which an answer is running.
RELAYED_DEADLINE_SECONDS = 600
# Results of sessions_list, and of sessions_history: its messages, and their characters.
LISTED_MAX_SESSIONS, READ_MAX_MESSAGES, READ_MAX_CHARS = 50, 50, 20_000
