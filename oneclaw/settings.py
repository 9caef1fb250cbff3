"""Every setting, read from the environment once. `docs/settings.md` lists what a person may set."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import broker, environment
from oneclaw.config.audit import *  # noqa: F403
from oneclaw.config.context import *  # noqa: F403
from oneclaw.config.home import make_home
from oneclaw.config.limits import *  # noqa: F403
from oneclaw.config.model import *  # noqa: F403
from oneclaw.config.privacy import *  # noqa: F403
from oneclaw.config.schedules import *  # noqa: F403
from oneclaw.config.secret_key import secret_key
from oneclaw.config.sign_in import *  # noqa: F403
from oneclaw.config.telemetry import *  # noqa: F403

# Arithmetic on small vectors gains nothing from threads, and processes with threads must not fork.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

BASE_DIR = Path(__file__).resolve().parent.parent

# -- Where the data is ---------------------------------------------------------------------------

# The data folder: embedded database, workspaces (the Markdown files), secret key, uploads.
HOME = Path(environment.text("ONECLAW_HOME", str(BASE_DIR / "data"))).expanduser().resolve()
WORKSPACES = HOME / "workspaces"
# Uploaded conversations of other programs until they are imported, readable by this program only.
IMPORTS = HOME / "imports"
# Files that people attach to messages; served only by the view that checks whose they are.
ATTACHMENTS = HOME / "attachments"
# Files of libraries, each in the folder of its space; served only by the view that checks who may read it.
LIBRARY = HOME / "library"
# Where `manage.py serve` stores its address for other commands.
ADDRESS_FILE = HOME / "address"
DEMO_ADDRESS_FILE = HOME / "demo-address"

make_home(HOME)
SECRET_KEY = secret_key(environment.text("ONECLAW_SECRET_KEY"), HOME)
# Secret keys of before, with which sign-ins, links and stored keys of model servers are still read.
SECRET_KEY_FALLBACKS = environment.words("ONECLAW_SECRET_KEY_FALLBACKS")

# The embedded PostgreSQL is used unless DATABASE_URL is set.
_database = environment.postgres("DATABASE_URL") or {
    "ENGINE": "oneclaw.postgres.backend",
    "NAME": "oneclaw",
    "OPTIONS": {"home": str(HOME)},
}
# Connections of one process; those of all web and worker processes must fit into max_connections.
DATABASE_POOL = environment.whole("ONECLAW_DATABASE_POOL", 10, 2, 200)
_database["OPTIONS"]["pool"] = {
    "min_size": 0,
    "max_size": DATABASE_POOL,
    "timeout": 10,
    "max_idle": 60,
}
# The backend looks at a pooled connection without a statement (oneclaw/postgres/backend).
_database["CONN_HEALTH_CHECKS"] = False
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# -- Who may reach it ----------------------------------------------------------------------------

# Where `manage.py serve` listens.
HOST = environment.text("HOST", "127.0.0.1")
PORT = environment.whole("PORT", 8000, 1, 65_535)

DEBUG = environment.flag("ONECLAW_DEBUG", False)

# Full origins under which people open the page, e.g. https://chat.example.org.
ORIGINS = environment.origins("ONECLAW_ORIGINS")
# Host names that the server accepts; those of ORIGINS are always included.
ALLOWED_HOSTS = environment.words("ONECLAW_ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
ALLOWED_HOSTS += [host for origin in ORIGINS if (host := urlsplit(origin).hostname) not in ALLOWED_HOSTS and host]
if "*" in ALLOWED_HOSTS:
    raise ImproperlyConfigured("ONECLAW_ALLOWED_HOSTS may not be *: name the hosts, e.g. chat.example.org.")
CSRF_TRUSTED_ORIGINS = ORIGINS

# Served over https, behind a proxy that sets X-Forwarded-Proto, when an origin has it.
HTTPS = any(origin.startswith("https://") for origin in ORIGINS)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
_oidc = urlsplit(OIDC_ISSUER)  # noqa: F405
# No inline script, no inline style, no other host.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "connect-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        # Connecting an account with the provider of single sign-on is a form that leads there.
        "form-action": ["'self'", *([f"{_oidc.scheme}://{_oidc.netloc}"] if _oidc.netloc else [])],
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
    "oneclaw.apps.StaticFilesAppConfig",
    "django.contrib.postgres",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.usersessions",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.socialaccount.providers.saml",
]

# The last one is sync only, so Django runs all but the first in one thread: a middleware need not be async.
MIDDLEWARE = [
    "oneclaw.web.limits.at_once.free_middleware",
    "oneclaw.telemetry.ids.request_id_middleware",
    "oneclaw.ops.metrics.metrics_middleware",
    "oneclaw.telemetry.tracing.span_middleware",
    "oneclaw.web.static_middleware.StaticFilesMiddleware",
    "oneclaw.web.permissions_policy.permissions_policy_middleware",
    # Before all middleware that may respond itself, so that those responses have the policy too.
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "oneclaw.web.compression.PageCompressionMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Every page needs a sign-in, except those with `login_not_required`.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "oneclaw.audit.record.remembering_request_middleware",
    "oneclaw.people.preferences.preferences_middleware",
    "oneclaw.people.seen.seen_middleware",
    "oneclaw.web.no_store.no_store_middleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "oneclaw.web.signed_out.sign_in_redirect_middleware",
    "oneclaw.people.sign_in.second_factor.second_factor_middleware",
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
                "oneclaw.team.pages.team_pages",
                "oneclaw.team.settings.banner",
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
    "staticfiles": {"BACKEND": "oneclaw.ops.static_files.HashedStaticFilesStorage"},
}

# In each process, so that a new version starts without what the old one kept; not while templates are being changed.
FRAGMENTS = f"django.core.cache.backends.{'dummy.DummyCache' if DEBUG else 'locmem.LocMemCache'}"
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # What {% cache %} keeps: parts of pages that are the same for every reader of a language.
    "template_fragments": {"BACKEND": FRAGMENTS, "LOCATION": "template_fragments"},
    # The entries of home pages of memory, each under a key of all that they show. Not for long: what was forgotten is
    # under no key any more, and should leave the process as well.
    "memory_home": {"BACKEND": FRAGMENTS, "LOCATION": "memory_home", "TIMEOUT": 600, "OPTIONS": {"MAX_ENTRIES": 100}},
}

# -- People --------------------------------------------------------------------------------------

AUTH_USER_MODEL = "oneclaw.User"
AUTHENTICATION_BACKENDS = [
    "allauth.account.auth_backends.AuthenticationBackend",
    # What the role of a person permits.
    "oneclaw.people.roles.RoleBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
# It allows every password: Django calls it after each change, also by a command.
AUTH_PASSWORD_VALIDATORS.append({"NAME": "oneclaw.people.passwords.EndKeysValidator"})
LANGUAGE_CODE = "en"
# Each language with its own name for itself.
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("fr", "Français"),
    ("es", "Español"),
    ("ja", "日本語"),
    ("zh-hans", "简体中文"),
]
LOCALE_PATHS = [BASE_DIR / "locale"]
# Date formats that differ from Django's.
FORMAT_MODULE_PATH = ["oneclaw.languages.formats"]
TIME_ZONE = "UTC"

# -- The conversation ----------------------------------------------------------------------------

# The name of the default agent when it is created.
DEFAULT_AGENT_NAME = environment.text("ONECLAW_AGENT_NAME", "OneClaw")

# Unicode code points of one message, as the browser counts them; with four bytes each they fit into a frame.
MESSAGE_LENGTH = environment.whole("ONECLAW_MESSAGE_LENGTH", 16_000, 100, 16_000)
# Seconds of the lease of a running answer, after which another process may mark it as interrupted.
LEASE_SECONDS = environment.number("ONECLAW_LEASE_SECONDS", 15, 1, 300)
# Seconds between two saves of a growing answer.
CHECKPOINT_SECONDS = environment.number("ONECLAW_CHECKPOINT_SECONDS", 1.0, 0.1, 10)
# The most frames of one growing block that a socket is sent in a second.
FRAMES_PER_SECOND = environment.number("ONECLAW_FRAMES_PER_SECOND", 12, 1, 60)

# The most megabytes of a file of conversations to import, and of its JSON when unpacked.
IMPORT_MEGABYTES = environment.whole("ONECLAW_IMPORT_MEGABYTES", 300, 1, 10_000)
IMPORT_UNPACKED_MEGABYTES = environment.whole("ONECLAW_IMPORT_UNPACKED_MEGABYTES", 1000, 1, 50_000)

# Seconds after a person's last socket has closed until they count as having left.
LEAVE_SECONDS = environment.number("ONECLAW_LEAVE_SECONDS", 60, 1, 86_400)

# Which messages from outside share one conversation of a person (chat/conversations/keys.py).
DM_SCOPES = ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]
DM_SCOPE = environment.choice("ONECLAW_DM_SCOPE", DM_SCOPES, "main")
# When a route gets a new conversation by itself: each day at RESET_HOUR of the person's clock, RESET_MINUTES after they
# wrote last, the first of both, or never. People and routes may have other values.
RESET = environment.choice("ONECLAW_RESET", ["none", "daily", "idle", "both"], "none")
RESET_HOUR = environment.whole("ONECLAW_RESET_HOUR", 4, 0, 23)
RESET_MINUTES = environment.whole("ONECLAW_RESET_MINUTES", 240, 1, 43_200)

# Hours after the last message until a temporary conversation is erased, unless it is ended before.
TEMPORARY_HOURS = environment.number("ONECLAW_TEMPORARY_HOURS", 24, 0.1, 720)

# Days for which a deleted conversation can be restored; then it is erased with its files.
DELETED_DAYS = environment.whole("ONECLAW_DELETED_DAYS", 30, 1, 3650)

# Bytes from which an upload is streamed to the disk instead of being held in memory.
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

# -- Memory --------------------------------------------------------------------------------------

# The parts of memory: disabled for all, or the default that people can change, off or on.
SWITCHING = ["disabled", "off", "on"]
SWITCHES = {
    "saved": environment.choice("ONECLAW_SWITCH_SAVED", SWITCHING, "on"),
    "preloaded": environment.choice("ONECLAW_SWITCH_PRELOADED", SWITCHING, "on"),
    "recent": environment.choice("ONECLAW_SWITCH_RECENT", SWITCHING, "on"),
    "recall": environment.choice("ONECLAW_SWITCH_RECALL", SWITCHING, "on"),
    "transcripts": environment.choice("ONECLAW_SWITCH_TRANSCRIPTS", SWITCHING, "on"),
    "reviews": environment.choice("ONECLAW_SWITCH_REVIEWS", SWITCHING, "on"),
}
# Whether memory is searched before a request to the model: for the first message of a conversation, each, or none.
# A folder of the server with skills, which all people may approve: each is a folder with a SKILL.md. Read only.
SKILLS = environment.existing_folder("ONECLAW_SKILLS")
# How many skills the search finds for a message; and how many stand in the system text of a conversation, or beside a
# message when there are more.
SKILLS_CANDIDATES = environment.whole("ONECLAW_SKILLS_CANDIDATES", 10, 1, 100)
SKILLS_IN_PROMPT = environment.whole("ONECLAW_SKILLS_IN_PROMPT", 5, 1, 50)
RECALL = environment.choice("ONECLAW_RECALL", ["off", "first", "every"], "first")

EMBEDDINGS = environment.choice("ONECLAW_EMBEDDINGS", ["auto", "local", "openai", "gemini", "none"], "auto")
# The model of `local`: word vectors (empty), or a folder with an ONNX model (onnxruntime installed).
LOCAL_MODEL = environment.folder("ONECLAW_LOCAL_MODEL", "onnxruntime")
OPENAI_API_KEY = environment.key("OPENAI_API_KEY")
OPENAI_BASE_URL = environment.address("OPENAI_BASE_URL", ["http", "https"])
GEMINI_API_KEY = environment.key("GEMINI_API_KEY")
if EMBEDDINGS == "openai" and not OPENAI_API_KEY and urlsplit(OPENAI_BASE_URL).hostname in (None, "api.openai.com"):
    raise ImproperlyConfigured(
        "ONECLAW_EMBEDDINGS is openai: set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs no key."
    )
if EMBEDDINGS == "gemini" and not GEMINI_API_KEY:
    raise ImproperlyConfigured("ONECLAW_EMBEDDINGS is gemini: set GEMINI_API_KEY.")
# The model of openai or gemini (empty: text-embedding-3-small, gemini-embedding-001).
EMBEDDING_MODEL = environment.text("ONECLAW_EMBEDDING_MODEL")
# Seconds that a search waits for the vector of its query, after which it uses words alone.
EMBEDDING_TIMEOUT = environment.number("ONECLAW_EMBEDDING_TIMEOUT", 3, 0.1, 60)
# Seconds of the lease of a flush, which is renewed while the model is asked.
FLUSH_LEASE_SECONDS = environment.number("ONECLAW_FLUSH_LEASE_SECONDS", 60, 1, 3600)
# Minutes without a message after which an open conversation is flushed to the daily log.
IDLE_MINUTES = environment.number("ONECLAW_IDLE_MINUTES", 30, 1, 10_080)
# Messages of a conversation that /new or /reset writes to a separate file; 0: none.
LAST_MESSAGES = environment.whole("ONECLAW_LAST_MESSAGES", 15, 0, 200)
# The conversations in Recent Conversations.md.
RECENT_CONVERSATIONS = environment.whole("ONECLAW_RECENT_CONVERSATIONS", 30, 10, 50)
# Whether save_memory writes the date and time above each entry.
MEMORY_TIMESTAMPS = environment.flag("ONECLAW_MEMORY_TIMESTAMPS", False)
# Whether the fast model compares saved lines with older ones on the same subject, to show contradictions.
CONTRADICTIONS = environment.flag("ONECLAW_CONTRADICTIONS", True)
# Defaults of a search: its number of passages, how sure (0 to 1) it must be that there are any, and the characters of a
# snippet.
SEARCH_RESULTS = environment.whole("ONECLAW_SEARCH_RESULTS", 6, 1, 60)
SEARCH_FLOOR = environment.number("ONECLAW_SEARCH_FLOOR", 0.35, 0, 1)
SNIPPET_LENGTH = environment.whole("ONECLAW_SNIPPET_LENGTH", 700, 100, 4000)
# The lowest score of a passage that is sent with a message: how likely it answers.
RECALL_FLOOR = environment.number("ONECLAW_RECALL_FLOOR", 0.25, 0, 1)
# Chunks up to which a search compares its query with every vector. Above it, the signs of the vectors select candidates
# for the comparison.
EXACT_UNITS = environment.whole("ONECLAW_EXACT_UNITS", 20_000, 0, 10_000_000)
# The weights of the two parts of a search.
VECTOR_WEIGHT = environment.number("ONECLAW_VECTOR_WEIGHT", 0.7, 0, 1)
TEXT_WEIGHT = environment.number("ONECLAW_TEXT_WEIGHT", 0.3, 0, 1)
# Days in which the recency of a dated note halves. MEMORY.md does not age, and recency only breaks ties.
HALF_LIFE = environment.number("ONECLAW_HALF_LIFE", 30, 0.1, 36_500)
# Maximal marginal relevance: 1 ranks by relevance alone, lower values rank near-duplicates lower.
MMR = environment.number("ONECLAW_MMR", 0.7, 0.1, 1)

# -- Tasks ---------------------------------------------------------------------------------------

# The broker is Redis, or else a folder. In both cases tasks are hints: a sweep finds lost ones.
REDIS_URL = environment.address("REDIS_URL", ["redis", "rediss"])
CELERY_BROKER_URL = REDIS_URL or broker.FOLDER_URL
CELERY_BROKER_TRANSPORT_OPTIONS = broker.redis_options() if REDIS_URL else broker.folder_options(HOME / "queue")
# Concurrent tasks of one worker process.
WORKER_THREADS = environment.whole("ONECLAW_WORKER_THREADS", 6, 1, 64)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SOFT_TIME_LIMIT = 240
CELERY_TASK_TIME_LIMIT = 270
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# The periodic tasks; the sweeps look for due work.
CELERY_BEAT_SCHEDULE = {
    "heartbeat": {"task": "oneclaw.tasks.heartbeat", "schedule": 15.0},
    "chat-sweep": {"task": "chat.tasks.sweep", "schedule": 15.0},
    "attachments-sweep": {"task": "chat.tasks.sweep_attachments", "schedule": 600.0},
    "purge": {"task": "chat.tasks.purge", "schedule": 3600.0},
    "memory-purge": {"task": "memory.tasks.purge", "schedule": 3600.0},
    "memory-sweep": {"task": "memory.tasks.sweep", "schedule": 60.0},
    "library-sweep": {"task": "memory.tasks.sweep_library", "schedule": 300.0},
    "invariants": {"task": "oneclaw.tasks.check_invariants", "schedule": 3600.0},
    "audit-log": {"task": "oneclaw.tasks.link_audit_log", "schedule": 5.0},
    # Asks the model's server once a day.
    "model-facts": {"task": "oneclaw.tasks.refresh_model_facts", "schedule": 300.0},
}
