"""Settings that limit what one person, or everybody together, may use at once."""

from oneclaw.config import environment

# The least and the most of limits that owners also change on a page (oneclaw/runtime_settings/limits.py).
AT_ONCE_BOUNDS = 1, 1000
STREAMS_BOUNDS = 1, 900
PER_MINUTE_BOUNDS = 0, 1_000_000

# Addresses or networks of proxies, whose X-Forwarded-For is believed.
TRUSTED_PROXIES = environment.networks("ONECLAW_TRUSTED_PROXIES")
# Turns of one person that may run at once in a web process; further ones wait.
PERSON_TURNS = environment.whole("ONECLAW_PERSON_TURNS", 4, *AT_ONCE_BOUNDS)
# Turns of all people that may run at once in a web process: each has a connection to the model's server.
UPSTREAM_STREAMS = environment.whole("ONECLAW_UPSTREAM_STREAMS", 200, *STREAMS_BOUNDS)
# Requests to the HTTP API, and searches, of one person in a minute, in each web process; 0: no limit.
API_REQUESTS_PER_MINUTE = environment.whole("ONECLAW_API_REQUESTS_PER_MINUTE", 600, *PER_MINUTE_BOUNDS)
# Messages that one person may send, and files that they may upload, in a minute, in each web process; 0: no limit.
MESSAGES_PER_MINUTE = environment.whole("ONECLAW_MESSAGES_PER_MINUTE", 60, *PER_MINUTE_BOUNDS)
UPLOADS_PER_MINUTE = environment.whole("ONECLAW_UPLOADS_PER_MINUTE", 60, *PER_MINUTE_BOUNDS)
# Requests of one sign-in or key that a web process answers at once; further ones wait, and then are refused.
PERSON_REQUESTS = environment.whole("ONECLAW_PERSON_REQUESTS", 3, *AT_ONCE_BOUNDS)
# Searches of one person that may run at once in a web process; further ones are refused.
PERSON_SEARCHES = environment.whole("ONECLAW_PERSON_SEARCHES", 4, *AT_ONCE_BOUNDS)
SEARCHES_PER_MINUTE = environment.whole("ONECLAW_SEARCHES_PER_MINUTE", 120, *PER_MINUTE_BOUNDS)
# Open sockets of one person in each web process: tabs, windows and devices.
SOCKETS = environment.whole("ONECLAW_SOCKETS", 20, 1, 10_000)
# How deep a sub-session may be below a person's conversation: 1: a sub-session begins no other one; 0: there are none.
SPAWN_DEPTH = environment.whole("ONECLAW_SPAWN_DEPTH", 1, 0, 3)
# Tokens that all sub-sessions of one answer may read and write together.
SPAWN_TOKENS = environment.whole("ONECLAW_SPAWN_TOKENS", 200_000, 1_000, 100_000_000)

# Kinds of files that may be attached.
FILE_KINDS = environment.several("ONECLAW_FILE_KINDS", ["image", "pdf", "docx", "text"])
# Limits: bytes of one file, files of one message, and bytes of all files of a person.
FILE_SIZE = environment.whole("ONECLAW_FILE_SIZE", 20, 1, 100) * 1024 * 1024
FILES_OF_A_MESSAGE = environment.whole("ONECLAW_FILES_OF_A_MESSAGE", 10, 1, 20)
FILE_SPACE = environment.whole("ONECLAW_FILE_SPACE", 2000, 1, 10_000_000) * 1024 * 1024
# Characters of text that the model is sent of all files of one message.
FILE_TEXT = environment.whole("ONECLAW_FILE_TEXT", 200_000, 1000, 2_000_000)
# Whether the model is sent a PDF itself, which Anthropic's models accept, or its text.
MODEL_READS_PDF = environment.flag("ONECLAW_MODEL_READS_PDF", True)

# Files of the library of a person or a space: bytes of one file, files and bytes of one space, and of one file the
# pages and characters that are read.
LIBRARY_FILE_SIZE = environment.whole("ONECLAW_LIBRARY_FILE_SIZE", 50, 1, 200) * 1024 * 1024
LIBRARY_FILES = environment.whole("ONECLAW_LIBRARY_FILES", 2000, 1, 100_000)
LIBRARY_SPACE = environment.whole("ONECLAW_LIBRARY_SPACE", 10_000, 1, 10_000_000) * 1024 * 1024
LIBRARY_PAGES = environment.whole("ONECLAW_LIBRARY_PAGES", 2000, 1, 20_000)
LIBRARY_TEXT = environment.whole("ONECLAW_LIBRARY_TEXT", 4_000_000, 10_000, 20_000_000)
# A search in the files of libraries: how sure (0 to 1) it must be that they have anything about the question, and the
# characters up to which a file is returned whole instead of passages of it.
LIBRARY_FLOOR = environment.number("ONECLAW_LIBRARY_FLOOR", 0.42, 0, 1)
LIBRARY_WHOLE = environment.whole("ONECLAW_LIBRARY_WHOLE", 6_000, 0, 18_000)
# Tokens of the documents that a person adds to a message; of longer ones, the best passages are sent.
LIBRARY_ATTACHED = environment.whole("ONECLAW_LIBRARY_ATTACHED", 40_000, 1_000, 500_000)
