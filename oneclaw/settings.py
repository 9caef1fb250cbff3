"""Every setting, read from the environment once. `docs/settings.md` lists what a person may set."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import broker, environment
from oneclaw.config.secret_key import secret_key

# Arithmetic on small vectors gains nothing from threads of its own, and they are in the way of forking.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

BASE_DIR = Path(__file__).resolve().parent.parent

# -- Where the data is ---------------------------------------------------------------------------

# The data folder: embedded database, workspaces (the Markdown files), secret key, uploads.
HOME = Path(environment.text("ONECLAW_HOME", str(BASE_DIR / "data"))).expanduser().resolve()
WORKSPACES = HOME / "workspaces"
# Uploaded conversations of other programs until they are taken in, readable by this program only.
IMPORTS = HOME / "imports"
# Files that people attach to messages; no web server reaches them but by the view that asks whose they are.
ATTACHMENTS = HOME / "attachments"
# Where `manage.py serve` leaves its address for other commands.
ADDRESS_FILE = HOME / "address"
DEMO_ADDRESS_FILE = HOME / "demo-address"

try:
    HOME.mkdir(parents=True, exist_ok=True)
except OSError as error:
    raise ImproperlyConfigured(
        f"The data folder {HOME} cannot be made ({error.strerror}): set ONECLAW_HOME to a folder you may write to."
    ) from error

SECRET_KEY = secret_key(environment.text("ONECLAW_SECRET_KEY"), HOME)

# The embedded PostgreSQL runs when no DATABASE_URL names another.
_database = environment.postgres("DATABASE_URL") or {
    "ENGINE": "oneclaw.postgres.backend",
    "NAME": "oneclaw",
    "OPTIONS": {"home": str(HOME)},
}
# Connections a process may hold; web and worker processes times this must fit max_connections.
DATABASE_POOL = environment.whole("ONECLAW_DATABASE_POOL", 10, 2, 200)
_database["OPTIONS"]["pool"] = {
    "min_size": 0,
    "max_size": DATABASE_POOL,
    "timeout": 10,
    "max_idle": 60,
}
_database["CONN_HEALTH_CHECKS"] = True  # or a database restart fails once per pooled connection
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# -- Who may reach it ----------------------------------------------------------------------------

# Where `manage.py serve` listens.
HOST = environment.text("HOST", "127.0.0.1")
PORT = environment.whole("PORT", 8000, 1, 65_535)

DEBUG = environment.flag("ONECLAW_DEBUG", False)

# Full origins under which people open the page, e.g. https://chat.example.org.
ORIGINS = environment.origins("ONECLAW_ORIGINS")
# Host names the server answers to; those of ORIGINS are always among them.
ALLOWED_HOSTS = environment.words("ONECLAW_ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
ALLOWED_HOSTS += [host for origin in ORIGINS if (host := urlsplit(origin).hostname) not in ALLOWED_HOSTS and host]
if "*" in ALLOWED_HOSTS:
    raise ImproperlyConfigured("ONECLAW_ALLOWED_HOSTS may not be *: name the hosts, e.g. chat.example.org.")
CSRF_TRUSTED_ORIGINS = ORIGINS

# Served over https (behind a proxy that sets X-Forwarded-Proto) as soon as an origin says so.
HTTPS = any(origin.startswith("https://") for origin in ORIGINS)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# No inline script, no inline style, no other host.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "connect-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
    }
}

# -- The parts -----------------------------------------------------------------------------------

INSTALLED_APPS = [
    "memory",
    "chat",
    "oneclaw",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "oneclaw.apps.StaticFiles",
    "django.contrib.postgres",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.usersessions",
]

# The last one is sync only, so Django runs all but the first in one thread: a middleware need not be async.
MIDDLEWARE = [
    "oneclaw.web.static_middleware.StaticFiles",
    # Before all that may answer by themselves: their answers have the policy too.
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "oneclaw.web.compression.CompressedPages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "oneclaw.people.preferences.own_preferences",
    "oneclaw.web.no_store.kept_by_no_cache",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "oneclaw.web.signed_out.page_goes_to_sign_in",
]

ROOT_URLCONF = "oneclaw.urls"
ASGI_APPLICATION = "oneclaw.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
    {
        # Prompts are plain text for a model: nothing is HTML-escaped.
        "NAME": "prompts",
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates" / "prompts"],
        "OPTIONS": {"autoescape": False},
    },
]

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Where `manage.py serve` collects static files under hashed names; an image is built with its own.
STATIC_ROOT = Path(environment.text("ONECLAW_STATIC_ROOT", str(HOME / "static")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "oneclaw.ops.static_files.HashedWhenCollected"},
}

# -- People --------------------------------------------------------------------------------------

AUTH_USER_MODEL = "oneclaw.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "oneclaw.people.invitations.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
# After five wrong passwords for one address it is kept out so long. One network may be wrong ten times a minute.
SIGN_IN_WAIT_MINUTES = 5
ACCOUNT_RATE_LIMITS = {"login_failed": f"10/m/ip,5/{SIGN_IN_WAIT_MINUTES}m/key"}
# Whether strangers may make themselves an account.
SIGNUP_OPEN = environment.flag("ONECLAW_SIGNUP_OPEN", False)
# How many days a one-time link for a new person works.
INVITATION_DAYS = environment.whole("ONECLAW_INVITATION_DAYS", 7, 1, 90)
PASSWORD_RESET_TIMEOUT = INVITATION_DAYS * 86_400

LANGUAGE_CODE = "en"
# Each by its own name.
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("fr", "Français"),
    ("es", "Español"),
    ("ja", "日本語"),
    ("zh-hans", "简体中文"),
]
LOCALE_PATHS = [BASE_DIR / "locale"]
# Dates as we write them, where that is not as Django does.
FORMAT_MODULE_PATH = ["oneclaw.languages.formats"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# -- The model -----------------------------------------------------------------------------------

ANTHROPIC_API_KEY = environment.text("ANTHROPIC_API_KEY")
# Any server that speaks the Messages API.
ANTHROPIC_BASE_URL = environment.address("ANTHROPIC_BASE_URL", ["http", "https"])
# `manage.py serve` sets this to its own demo model's address when there is neither a key nor a base URL.
DEMO_URL = environment.address("ONECLAW_DEMO_URL", ["http"])
# Whether `manage.py serve` must run the demo model itself.
NEEDS_DEMO = not (ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL or DEMO_URL)
MODEL = environment.text("ONECLAW_MODEL", "claude-sonnet-5-5")
# The models that people may choose from, each with the label that they see; empty: MODEL alone, which is always among
# them and answers where nobody has chosen.
MODELS = environment.labelled("ONECLAW_MODELS")
# Titles and summaries.
FAST_MODEL = environment.text("ONECLAW_FAST_MODEL", "claude-haiku-5-5")
# Whether the fast model names a conversation after its first answer.
TITLES = environment.flag("ONECLAW_TITLES", True)
# Tokens one answer may have.
MAX_OUTPUT_TOKENS = environment.whole("ONECLAW_MAX_OUTPUT_TOKENS", 8192, 64, 128_000)
# Tokens that a model may think before it answers; 0: as the server does by itself.
THINKING = environment.whole("ONECLAW_THINKING", 0, 0, 100_000)
if THINKING and not 1024 <= THINKING < MAX_OUTPUT_TOKENS:
    raise ImproperlyConfigured(
        f"ONECLAW_THINKING is {THINKING}; it must be 0, or at least 1024 and less than ONECLAW_MAX_OUTPUT_TOKENS."
    )
# US dollars per million tokens, by the beginning of a model's name; without one no cost is shown.
PRICES = environment.prices("ONECLAW_PRICES")
# Seconds: to connect, of silence on a stream, and for a whole turn with its tools.
CONNECT_TIMEOUT = environment.number("ONECLAW_CONNECT_TIMEOUT", 5, 0.1, 60)
SILENCE_TIMEOUT = environment.number("ONECLAW_SILENCE_TIMEOUT", 30, 0.1, 600)
TURN_TIMEOUT = environment.number("ONECLAW_TURN_TIMEOUT", 600, 1, 7200)
# Rounds of tool calls a turn may have before it must answer.
TOOL_ROUNDS = environment.whole("ONECLAW_TOOL_ROUNDS", 8, 1, 50)

# -- The conversation ----------------------------------------------------------------------------

# What the default agent is called when it is first made.
DEFAULT_AGENT_NAME = environment.text("ONECLAW_AGENT_NAME", "OneClaw")

# Unicode code points one message may have; the browser counts the same way. As many emoji as that, of four bytes each,
# still fit into a frame of 64 KiB.
MESSAGE_LENGTH = environment.whole("ONECLAW_MESSAGE_LENGTH", 16_000, 100, 16_000)
# Seconds for which the process that streams an answer holds it before somebody else may call it interrupted.
LEASE_SECONDS = environment.number("ONECLAW_LEASE_SECONDS", 15, 1, 300)
# Seconds between two saves of a growing answer.
CHECKPOINT_SECONDS = environment.number("ONECLAW_CHECKPOINT_SECONDS", 1.0, 0.1, 10)
# Frames of one growing block that a socket gets in a second, at most.
FRAMES_PER_SECOND = environment.number("ONECLAW_FRAMES_PER_SECOND", 12, 1, 60)

# Megabytes that a file of conversations to import may have, and its JSON once it is unpacked.
IMPORT_MEGABYTES = environment.whole("ONECLAW_IMPORT_MEGABYTES", 300, 1, 10_000)
IMPORT_UNPACKED_MEGABYTES = environment.whole("ONECLAW_IMPORT_UNPACKED_MEGABYTES", 1000, 1, 50_000)

# Seconds after a person's last socket has closed until they count as gone.
LEAVE_SECONDS = environment.number("ONECLAW_LEAVE_SECONDS", 60, 1, 86_400)

# Hours after the last message at which a temporary conversation is erased, unless somebody ends it before.
TEMPORARY_HOURS = environment.number("ONECLAW_TEMPORARY_HOURS", 24, 0.1, 720)

# Days for which a deleted conversation can be restored; then it is removed for good, with its files.
DELETED_DAYS = environment.whole("ONECLAW_DELETED_DAYS", 30, 1, 3650)

# -- Attached files ------------------------------------------------------------------------------

# Kinds of files that may be attached.
FILE_KINDS = environment.several("ONECLAW_FILE_KINDS", ["image", "pdf", "docx", "text"])
# Bytes of one file, files of one message, and bytes of all that a person keeps.
FILE_SIZE = environment.whole("ONECLAW_FILE_SIZE", 20, 1, 100) * 1024 * 1024
FILES_OF_A_MESSAGE = environment.whole("ONECLAW_FILES_OF_A_MESSAGE", 10, 1, 20)
FILE_SPACE = environment.whole("ONECLAW_FILE_SPACE", 2000, 1, 10_000_000) * 1024 * 1024
# Characters of the texts of one message's files that the model reads.
FILE_TEXT = environment.whole("ONECLAW_FILE_TEXT", 200_000, 1000, 2_000_000)
# Whether the model is sent a PDF as it is, as Anthropic's take it; otherwise its text.
MODEL_READS_PDF = environment.flag("ONECLAW_MODEL_READS_PDF", True)
# A file is streamed to the disk, and not kept in memory, from this size on.
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

# -- Memory --------------------------------------------------------------------------------------

# What a person's memory is made of: disabled, or what it is until they choose themselves, off or on.
SWITCHING = ["disabled", "off", "on"]
SWITCHES = {
    "saved": environment.choice("ONECLAW_SWITCH_SAVED", SWITCHING, "on"),
    "recent": environment.choice("ONECLAW_SWITCH_RECENT", SWITCHING, "on"),
    "recall": environment.choice("ONECLAW_SWITCH_RECALL", SWITCHING, "on"),
    "transcripts": environment.choice("ONECLAW_SWITCH_TRANSCRIPTS", SWITCHING, "on"),
}
# Whether memory is searched before the model is asked: with the first message of a conversation, each one, or never.
RECALL = environment.choice("ONECLAW_RECALL", ["off", "first", "every"], "first")

EMBEDDINGS = environment.choice("ONECLAW_EMBEDDINGS", ["auto", "local", "openai", "gemini", "none"], "auto")
# Which model `local` is: word vectors (empty), or a folder with an ONNX model (onnxruntime installed).
LOCAL_MODEL = environment.text("ONECLAW_LOCAL_MODEL")
OPENAI_API_KEY = environment.key("OPENAI_API_KEY")
OPENAI_BASE_URL = environment.address("OPENAI_BASE_URL", ["http", "https"])
GEMINI_API_KEY = environment.key("GEMINI_API_KEY")
if EMBEDDINGS == "openai" and not OPENAI_API_KEY and urlsplit(OPENAI_BASE_URL).hostname in (None, "api.openai.com"):
    raise ImproperlyConfigured(
        "ONECLAW_EMBEDDINGS is openai: set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs no key."
    )
if EMBEDDINGS == "gemini" and not GEMINI_API_KEY:
    raise ImproperlyConfigured("ONECLAW_EMBEDDINGS is gemini: set GEMINI_API_KEY.")
# The model that is asked of openai or gemini (empty: text-embedding-3-small, gemini-embedding-001).
EMBEDDING_MODEL = environment.text("ONECLAW_EMBEDDING_MODEL")
# Seconds that a search waits for the vector of its question before it goes by words alone.
EMBEDDING_TIMEOUT = environment.number("ONECLAW_EMBEDDING_TIMEOUT", 3, 0.1, 60)
# Seconds for which a worker holds a flush before another may take it over; longer than one takes with the model.
FLUSH_LEASE_SECONDS = environment.number("ONECLAW_FLUSH_LEASE_SECONDS", 300, 1, 3600)
# Minutes without a message after which a conversation that nobody closed is noted in the daily log.
IDLE_MINUTES = environment.number("ONECLAW_IDLE_MINUTES", 30, 1, 10_080)
# Messages of a conversation that /new or /reset puts into a file of its own; 0: none.
LAST_MESSAGES = environment.whole("ONECLAW_LAST_MESSAGES", 15, 0, 200)
# Conversations that Recent Conversations.md holds.
RECENT_CONVERSATIONS = environment.whole("ONECLAW_RECENT_CONVERSATIONS", 30, 10, 50)
# Whether save_memory puts the date and time over each entry.
MEMORY_TIMESTAMPS = environment.flag("ONECLAW_MEMORY_TIMESTAMPS", False)
# Whether the fast model compares what is saved with older lines about the same, to show what contradicts.
CONTRADICTIONS = environment.flag("ONECLAW_CONTRADICTIONS", True)
# What a search returns when nobody says otherwise: passages, the least score (0 to 1), characters a snippet.
SEARCH_RESULTS = environment.whole("ONECLAW_SEARCH_RESULTS", 6, 1, 60)
SEARCH_FLOOR = environment.number("ONECLAW_SEARCH_FLOOR", 0.35, 0, 1)
SNIPPET_LENGTH = environment.whole("ONECLAW_SNIPPET_LENGTH", 700, 100, 4000)
# Units up to which a search compares its question with every vector. Beyond, the signs of the vectors choose those that
# are compared.
EXACT_UNITS = environment.whole("ONECLAW_EXACT_UNITS", 20_000, 0, 10_000_000)
# How the two legs of a search weigh.
VECTOR_WEIGHT = environment.number("ONECLAW_VECTOR_WEIGHT", 0.7, 0, 1)
TEXT_WEIGHT = environment.number("ONECLAW_TEXT_WEIGHT", 0.3, 0, 1)
# Days after which a dated note has half faded. MEMORY.md never does, and fading only parts equals.
HALF_LIFE = environment.number("ONECLAW_HALF_LIFE", 30, 0.1, 36_500)
# Maximal marginal relevance: 1 ranks by relevance alone, less makes lines that say nearly the same make room.
MMR = environment.number("ONECLAW_MMR", 0.7, 0.1, 1)

# -- Tasks ---------------------------------------------------------------------------------------

# Without Redis, tasks travel through a folder. Either way they are hints: a sweep finds what was lost.
REDIS_URL = environment.address("REDIS_URL", ["redis", "rediss"])
CELERY_BROKER_URL = REDIS_URL or broker.FOLDER
CELERY_BROKER_TRANSPORT_OPTIONS = broker.redis_options() if REDIS_URL else broker.folder_options(HOME / "queue")
# Tasks that one worker process runs at a time.
WORKER_THREADS = environment.whole("ONECLAW_WORKER_THREADS", 4, 1, 64)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SOFT_TIME_LIMIT = 240
CELERY_TASK_TIME_LIMIT = 270
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Now and then each app looks for what is still to be done.
CELERY_BEAT_SCHEDULE = {
    "heartbeat": {"task": "oneclaw.tasks.heartbeat", "schedule": 15.0},
    "chat-sweep": {"task": "chat.tasks.sweep", "schedule": 15.0},
    "attachments-sweep": {"task": "chat.tasks.sweep_attachments", "schedule": 600.0},
    "purge": {"task": "chat.tasks.purge", "schedule": 3600.0},
    "memory-sweep": {"task": "memory.tasks.sweep", "schedule": 60.0},
    "invariants": {"task": "oneclaw.tasks.check_invariants", "schedule": 3600.0},
}

# -- What is logged ------------------------------------------------------------------------------

LOG_LEVEL = environment.choice("ONECLAW_LOG_LEVEL", ["debug", "info", "warning", "error"], "warning").upper()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # A page that is not there, or not for whoever asks, is told in the browser.
    "loggers": {"django.request": {"level": "ERROR"}},
}
