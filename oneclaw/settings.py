"""Every setting, read from the environment once. `docs/settings.md` lists what a person may set."""

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import broker, environment, release
from oneclaw.config.home import make_home, usual_home
from oneclaw.config.known_prices import KNOWN_PRICES
from oneclaw.config.limits import AT_ONCE_BOUNDS, PER_MINUTE_BOUNDS, SIGN_IN_WAIT_MINUTES, STREAMS_BOUNDS
from oneclaw.config.secret_key import secret_key
from oneclaw.config.upstreams import read_upstreams

# Arithmetic on small vectors gains nothing from threads, and processes with threads must not fork.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# Where the packages are; release.root() has templates, static files and translations.
BASE_DIR = release.PACKAGES

# -- Where the data is ---------------------------------------------------------------------------

# The data folder: embedded database, workspaces (the Markdown files), secret key, uploads.
HOME = Path(environment.text("ONECLAW_HOME") or usual_home()).expanduser().resolve()
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

# -- Accounts and passwords ----------------------------------------------------------------------

LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "oneclaw.people.sign_in.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_FORMS = {
    "login": "oneclaw.people.forms.FocusedLoginForm",
    "signup": "oneclaw.people.forms.FocusedSignupForm",
    "change_password": "oneclaw.people.forms.FocusedPasswordForm",
    "reauthenticate": "oneclaw.people.forms.ConfirmForm",
}
ACCOUNT_SESSION_REMEMBER = True
# What changes how somebody signs in takes a sign-in within the last five minutes.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# The limits of passwords are in oneclaw/people/sign_in/attempts.py; `login_failed` is that of codes of a second factor.
ACCOUNT_RATE_LIMITS = {"login_failed": f"5/{SIGN_IN_WAIT_MINUTES}m/key", "login": "300/m/ip"}
# Who may make shared spaces.
SPACES = environment.choice("ONECLAW_SPACES", ["everybody", "admins"], "everybody")
# Days for which a one-time link for a new person is valid.
INVITATION_DAYS = environment.whole("ONECLAW_INVITATION_DAYS", 7, 1, 90)
PASSWORD_RESET_TIMEOUT = INVITATION_DAYS * 86_400

# -- Mail ----------------------------------------------------------------------------------------

# The mail server; without one nothing is mailed, and people pass on links by themselves.
_mail = environment.mail_server("ONECLAW_MAIL_URL")
MAIL = _mail is not None
EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend" if _mail else "django.core.mail.backends.dummy.EmailBackend"
)
EMAIL_HOST, EMAIL_PORT = (_mail.host, _mail.port) if _mail else ("localhost", 25)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = (_mail.user, _mail.password) if _mail else ("", "")
EMAIL_USE_TLS, EMAIL_USE_SSL = bool(_mail and _mail.starttls), bool(_mail and _mail.ssl)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = environment.text("ONECLAW_MAIL_FROM", f"oneclaw@{EMAIL_HOST}")
EMAIL_SUBJECT_PREFIX = ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
# An address is verified by a mailed link as soon as mail can be sent.
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if MAIL else "none"
ACCOUNT_CONFIRM_EMAIL_ON_GET = False
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False

# -- Sign-up -------------------------------------------------------------------------------------

# Who may create an account: nobody without an invitation, everyone whom an admin then approves, everyone with a
# verified address of certain domains, or everyone.
SIGN_UP = environment.choice(
    "ONECLAW_SIGN_UP",
    ["closed", "approval", "domains", "open"],
    # The setting of earlier releases.
    "open" if environment.flag("ONECLAW_SIGNUP_OPEN", False) else "closed",
)
SIGN_UP_DOMAINS = [word.lower().lstrip("@") for word in environment.words("ONECLAW_SIGN_UP_DOMAINS")]
if SIGN_UP == "domains" and not (SIGN_UP_DOMAINS and MAIL):
    raise ImproperlyConfigured(
        "ONECLAW_SIGN_UP=domains needs ONECLAW_SIGN_UP_DOMAINS, such as example.org, and ONECLAW_MAIL_URL: without a "
        "mailed link anyone could claim an address of the domain."
    )

# -- Single sign-on (OpenID Connect) -------------------------------------------------------------


@dataclass(frozen=True)
class Oidc:
    """The provider of OpenID Connect."""

    # The id of the provider in addresses and rows.
    PROVIDER_ID = "sso"

    issuer: str = environment.secure_address("ONECLAW_OIDC_ISSUER").rstrip("/")
    client_id: str = environment.text("ONECLAW_OIDC_CLIENT_ID")
    client_secret: str = environment.text("ONECLAW_OIDC_CLIENT_SECRET")
    # The name of the provider on the sign-in page.
    name: str = environment.text("ONECLAW_OIDC_NAME", "SSO")
    scopes: tuple[str, ...] = tuple(environment.words("ONECLAW_OIDC_SCOPES", ["openid", "profile", "email"]))
    # The claim with the names of a person's groups.
    groups_claim: str = environment.text("ONECLAW_OIDC_GROUPS_CLAIM", "groups")
    # What happens to a person whom the provider knows and OneClaw does not: an account, one that waits for an admin,
    # none.
    sign_up: str = environment.choice("ONECLAW_OIDC_SIGN_UP", ["open", "approval", "closed"], "open")
    # Whether every address that the provider says counts as verified, also without the claim email_verified.
    trusts_email: bool = environment.flag("ONECLAW_OIDC_TRUST_EMAIL", False)


OIDC = Oidc()
if OIDC.issuer and not OIDC.client_id:
    raise ImproperlyConfigured("ONECLAW_OIDC_ISSUER needs ONECLAW_OIDC_CLIENT_ID, and usually _CLIENT_SECRET.")

# -- Single sign-on (SAML, an extra) -------------------------------------------------------------


@dataclass(frozen=True)
class Saml:
    """The identity provider of SAML, and what it calls OneClaw."""

    # The id of the provider in addresses and rows.
    PROVIDER_ID = "saml"

    # What the identity provider publishes about itself: an address, or a file. Or its parts by themselves, below.
    metadata: str = environment.secure_address_or_file("ONECLAW_SAML_METADATA")
    # Its name for itself; of metadata with several identity providers, the one that is meant.
    idp_entity_id: str = environment.text("ONECLAW_SAML_IDP_ENTITY_ID")
    idp_sso_url: str = environment.secure_address("ONECLAW_SAML_IDP_SSO_URL")
    idp_slo_url: str = environment.secure_address("ONECLAW_SAML_IDP_SLO_URL")
    # The certificate of its signatures, as Base64 without the lines around it.
    idp_certificate: str = environment.certificate("ONECLAW_SAML_IDP_CERTIFICATE")
    # OneClaw's name for itself; empty: the address of its metadata.
    entity_id: str = environment.text("ONECLAW_SAML_ENTITY_ID")
    # The name of the identity provider on the sign-in page.
    name: str = environment.text("ONECLAW_SAML_NAME", "SSO")
    # The attributes that say what is known of a person; of several, the first that is there.
    id_attribute: str = environment.text("ONECLAW_SAML_ID_ATTRIBUTE")
    email_attributes: tuple[str, ...] = tuple(
        environment.words(
            "ONECLAW_SAML_EMAIL_ATTRIBUTE",
            [
                "email",
                "mail",
                "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
                "urn:oid:0.9.2342.19200300.100.1.3",
            ],
        )
    )
    name_attributes: tuple[str, ...] = tuple(
        environment.words(
            "ONECLAW_SAML_NAME_ATTRIBUTE",
            [
                "displayName",
                "name",
                "http://schemas.microsoft.com/identity/claims/displayname",
                "urn:oid:2.16.840.1.113730.3.1.241",
                "givenName",
                "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname",
                "urn:oid:2.5.4.42",
            ],
        )
    )
    groups_attributes: tuple[str, ...] = tuple(
        environment.words(
            "ONECLAW_SAML_GROUPS_ATTRIBUTE",
            [
                "groups",
                "memberOf",
                "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups",
                "http://schemas.xmlsoap.org/claims/Group",
                "urn:oid:1.3.6.1.4.1.5923.1.5.1.1",
            ],
        )
    )
    # What happens to a person whom the provider knows and OneClaw does not, as for OpenID Connect.
    sign_up: str = environment.choice("ONECLAW_SAML_SIGN_UP", ["open", "approval", "closed"], "open")
    # Whether every address that the provider says counts as verified, also without an attribute that says so.
    trusts_email: bool = environment.flag("ONECLAW_SAML_TRUST_EMAIL", False)

    @property
    def is_on(self) -> bool:
        """Return whether people may sign in by SAML."""
        return bool(self.metadata or self.idp_sso_url)


SAML = Saml()
if SAML.is_on and find_spec("onelogin") is None:
    raise ImproperlyConfigured(
        f"Sign-in by SAML needs the package python3-saml: install it with {release.COMMAND} extra saml, or with "
        f"{sys.executable} -m pip install --require-hashes -r {release.root() / 'requirements' / 'saml.txt'}"
    )
if SAML.metadata and SAML.idp_sso_url:
    raise ImproperlyConfigured(
        "ONECLAW_SAML_METADATA and ONECLAW_SAML_IDP_SSO_URL both say where the identity provider is: set one of them."
    )
if SAML.idp_sso_url and not (SAML.idp_entity_id and SAML.idp_certificate):
    raise ImproperlyConfigured(
        "ONECLAW_SAML_IDP_SSO_URL needs ONECLAW_SAML_IDP_ENTITY_ID and ONECLAW_SAML_IDP_CERTIFICATE: answers are "
        "checked with them."
    )

# -- Single sign-on (both) -----------------------------------------------------------------------

SOCIALACCOUNT_ADAPTER = "oneclaw.people.sign_in.single_sign_on.SingleSignOnAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "provider_class": "oneclaw.people.sign_in.provider.Provider",
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": OIDC.PROVIDER_ID,
                "name": OIDC.name,
                "client_id": OIDC.client_id,
                "secret": OIDC.client_secret,
                "settings": {
                    "server_url": OIDC.issuer,
                    "scope": list(OIDC.scopes),
                    # An account with the same verified address is the person's.
                    "email_authentication": True,
                    "verified_email": OIDC.trusts_email,
                },
            }
        ]
        if OIDC.issuer
        else [],
    },
    "saml": {
        "provider_class": "oneclaw.people.sign_in.saml.provider.IdentityProvider",
        "APPS": [
            {
                "provider_id": SAML.PROVIDER_ID,
                "name": SAML.name,
                "client_id": SAML.PROVIDER_ID,
                "settings": {"email_authentication": True, "verified_email": SAML.trusts_email},
            }
        ]
        if SAML.is_on
        else [],
    },
}
# Signing in changes nothing and carries a state, so that a link may start it; see `provider.login`.
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
# The provider's word counts, see `email_verified` in oneclaw/people/sign_in/single_sign_on.py.
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10

# -- The second factor ---------------------------------------------------------------------------

# Who must have one: everyone, everyone with a role, or nobody.
SECOND_FACTOR = environment.choice("ONECLAW_SECOND_FACTOR", ["optional", "admins", "everyone"], "optional")
MFA_ADAPTER = "oneclaw.people.sign_in.second_factor.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "OneClaw"
# A code of the half minute before and after, for clocks that differ.
MFA_TOTP_TOLERANCE = 1
# Without mail no address is verified.
MFA_ALLOW_UNVERIFIED_EMAIL = not MAIL
MFA_FORMS = {"add_webauthn": "oneclaw.people.forms.PasskeyForm"}

# -- SCIM ----------------------------------------------------------------------------------------

# The token with which the directory of an organisation keeps people and groups; empty: SCIM is off.
SCIM_TOKEN = environment.key("ONECLAW_SCIM_TOKEN")
if SCIM_TOKEN and len(SCIM_TOKEN) < 32:
    raise ImproperlyConfigured("ONECLAW_SCIM_TOKEN must have at least 32 characters: it may change every account.")

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
_https = any(origin.startswith("https://") for origin in ORIGINS)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _https else None
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _https
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
_oidc = urlsplit(OIDC.issuer)
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
    "allauth.idp.oidc",
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
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        ("oneclaw.web.compact_templates.Loader", [release.root() / "templates"]),
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
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
        "DIRS": [release.root() / "templates" / "prompts"],
        "OPTIONS": {"autoescape": False},
    },
]

STATIC_URL = "static/"
STATICFILES_DIRS = [release.root() / "static"]
# Where `manage.py serve` collects static files under hashed names; an image is built with its own.
STATIC_ROOT = Path(environment.text("ONECLAW_STATIC_ROOT", str(HOME / "static")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "oneclaw.ops.static_files.HashedStaticFilesStorage"},
}

# In each process, so that a new version starts without what the old one kept; not while templates are being changed.
_fragments = f"django.core.cache.backends.{'dummy.DummyCache' if DEBUG else 'locmem.LocMemCache'}"
CACHES = {
    # allauth counts attempts there, and keeps the codes of signing in for a minute: all processes have to see them.
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "oneclaw_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    },
    # What {% cache %} keeps: parts of pages that are the same for every reader of a language.
    "template_fragments": {"BACKEND": _fragments, "LOCATION": "template_fragments"},
    # The entries of home pages of memory, each under a key of all that they show. Not for long: what was forgotten is
    # under no key any more, and should leave the process as well.
    "memory_home": {"BACKEND": _fragments, "LOCATION": "memory_home", "TIMEOUT": 600, "OPTIONS": {"MAX_ENTRIES": 100}},
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
LOCALE_PATHS = [release.root() / "locale"]
# Date formats that differ from Django's.
FORMAT_MODULE_PATH = ["oneclaw.languages.formats"]
TIME_ZONE = "UTC"

# -- The model ------------------------------------------------------------------------------------

ANTHROPIC_API_KEY = environment.text("ANTHROPIC_API_KEY")
# Any server that speaks the Messages API.
ANTHROPIC_BASE_URL = environment.address("ANTHROPIC_BASE_URL", ["http", "https"])
# `manage.py serve` sets this to its own demo model's address when there is neither a key nor a base URL.
DEMO_URL = environment.address("ONECLAW_DEMO_URL", ["http"])
# Whether `manage.py serve` must run the demo model itself.
NEEDS_DEMO = not (ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL or DEMO_URL)
MODEL = environment.text("ONECLAW_MODEL", "claude-sonnet-5-5")
# The models that people may choose, each with its label. MODEL, which is the default, is always among them.
MODELS = environment.labelled("ONECLAW_MODELS")
# Further servers that speak the Messages API, in the order in which they are asked.
UPSTREAMS = read_upstreams(environment.text("ONECLAW_UPSTREAMS"))
# The model of titles and summaries.
FAST_MODEL = environment.text("ONECLAW_FAST_MODEL", "claude-haiku-5-5")
# Timeouts in seconds: to connect, without data in a text (ten times that while a model thinks), and of a whole turn.
CONNECT_TIMEOUT = environment.number("ONECLAW_CONNECT_TIMEOUT", 5, 0.1, 60)
SILENCE_TIMEOUT = environment.number("ONECLAW_SILENCE_TIMEOUT", 30, 0.1, 600)
TURN_TIMEOUT = environment.number("ONECLAW_TURN_TIMEOUT", 600, 1, 7200)
# Rounds of tool calls of a turn, after which it must answer.
TOOL_ROUNDS = environment.whole("ONECLAW_TOOL_ROUNDS", 8, 1, 50)

# -- What one person, or everybody together, may use ----------------------------------------------

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


@dataclass(frozen=True)
class Files:
    """What may be attached to messages."""

    # Kinds of files that may be attached.
    kinds: tuple[str, ...] = tuple(
        environment.several("ONECLAW_FILE_KINDS", ["image", "pdf", "docx", "sheet", "slides", "text"])
    )
    max_bytes: int = environment.whole("ONECLAW_FILE_SIZE", 20, 1, 100) * 1024 * 1024
    message_max_files: int = environment.whole("ONECLAW_FILES_OF_A_MESSAGE", 10, 1, 20)
    person_max_bytes: int = environment.whole("ONECLAW_FILE_SPACE", 2000, 1, 10_000_000) * 1024 * 1024
    # Text that the model is sent of all files of one message.
    text_max_chars: int = environment.whole("ONECLAW_FILE_TEXT", 200_000, 1000, 2_000_000)
    # Whether the model is sent a PDF itself, which Anthropic's models accept, or its text.
    sends_pdf: bool = environment.flag("ONECLAW_MODEL_READS_PDF", True)


FILES = Files()


@dataclass(frozen=True)
class LibraryLimits:
    """Limits of the files in the library of a person or a space."""

    file_max_bytes: int = environment.whole("ONECLAW_LIBRARY_FILE_SIZE", 50, 1, 200) * 1024 * 1024
    max_files: int = environment.whole("ONECLAW_LIBRARY_FILES", 2000, 1, 100_000)
    max_bytes: int = environment.whole("ONECLAW_LIBRARY_SPACE", 10_000, 1, 10_000_000) * 1024 * 1024
    # Of one file, what is read.
    file_max_pages: int = environment.whole("ONECLAW_LIBRARY_PAGES", 2000, 1, 20_000)
    file_max_chars: int = environment.whole("ONECLAW_LIBRARY_TEXT", 4_000_000, 10_000, 20_000_000)
    # How sure (0 to 1) a search must be that the files have anything about the question.
    floor: float = environment.number("ONECLAW_LIBRARY_FLOOR", 0.42, 0, 1)
    # A file of at most so many characters is returned whole instead of passages of it.
    whole_max_chars: int = environment.whole("ONECLAW_LIBRARY_WHOLE", 6_000, 0, 18_000)
    # Documents that a person adds to a message; of longer ones, the best passages are sent.
    attached_max_tokens: int = environment.whole("ONECLAW_LIBRARY_ATTACHED", 40_000, 1_000, 500_000)


LIBRARY_LIMITS = LibraryLimits()

# -- The conversation ----------------------------------------------------------------------------

# The name of the default agent when it is created.
DEFAULT_AGENT_NAME = environment.text("ONECLAW_AGENT_NAME", "OneClaw")

# Unicode code points of one message, as the browser counts them; with four bytes each they fit into a frame.
MESSAGE_LENGTH = environment.whole("ONECLAW_MESSAGE_LENGTH", 16_000, 100, 16_000)


@dataclass(frozen=True)
class Leases:
    """How long a process that works on a row may be silent until another one takes over."""

    # Of a running answer, after which another process may mark it as interrupted.
    answer_seconds: float = environment.number("ONECLAW_LEASE_SECONDS", 15, 1, 300)
    # Of a summary of a conversation.
    round_seconds: float = environment.number("ONECLAW_ROUND_LEASE_SECONDS", 60, 1, 3600)
    # Of a flush, which renews it while the model is asked.
    flush_seconds: float = environment.number("ONECLAW_FLUSH_LEASE_SECONDS", 60, 1, 3600)


LEASES = Leases()
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
DM_SCOPE = environment.choice(
    "ONECLAW_DM_SCOPE", ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"], "main"
)
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

# -- Requests and summaries -----------------------------------------------------------------------

# Tokens of the model's window that a conversation may use; 0: all.
CONTEXT = environment.whole("ONECLAW_CONTEXT", 200_000, 0, 10_000_000)
# The windows of models, in tokens, for servers that do not say them.
WINDOWS = environment.sizes("ONECLAW_WINDOWS")
# Whether a conversation that nears that size is summarised; off: only when it is full, or its owner asks.
COMPACTION = environment.choice("ONECLAW_COMPACTION", ["on", "off"], "on") == "on"
# Tokens of the window that are left free for an answer.
COMPACTION_RESERVE = environment.whole("ONECLAW_COMPACTION_RESERVE", 20_000, 0, 1_000_000)
# Messages since the last summary after which a conversation is summarised, too; 0: as many as the window holds.
COMPACTION_MESSAGES = environment.whole("ONECLAW_COMPACTION_MESSAGES", 400, 0, 100_000)
# Who writes the summary: "auto" is the model's server if it can, else the fast model; "model" the fast model; or the
# name of a model.
COMPACTION_BY = environment.text("ONECLAW_COMPACTION_BY", "auto")
# Tokens of the newest messages that are sent word for word with a summary.
KEEP_TOKENS = environment.whole("ONECLAW_KEEP_TOKENS", 20_000, 0, 1_000_000)
# Whether old results of tools are shortened while the provider's cache has expired.
PRUNING = environment.choice("ONECLAW_PRUNING", ["cache-ttl", "off"], "cache-ttl") == "cache-ttl"
# Whether results of tools above 4,000 characters are shortened when they are sent first.
COMPACT_RESULTS = environment.choice("ONECLAW_COMPACT_RESULTS", ["yes", "no"], "yes") == "yes"
# The lifetime of the provider's cache of a conversation; "5m" becomes an hour for a person who pauses.
CACHE = environment.choice("ONECLAW_CACHE", ["off", "5m", "1h"], "5m")
# The most tokens of one answer, with its thinking; 0: what the model allows.
MAX_OUTPUT_TOKENS = environment.whole("ONECLAW_MAX_OUTPUT_TOKENS", 0, 0, 128_000)
# How much the model thinks and writes: low, medium, high, xhigh or max; default: as much as its maker says.
EFFORT = environment.choice("ONECLAW_EFFORT", ["default", "low", "medium", "high", "xhigh", "max"], "medium")
# Tokens of thinking before an answer, for models before Claude 4.6, which have no other way to think; 0: none.
THINKING = environment.whole("ONECLAW_THINKING", 0, 0, 100_000)
if THINKING and not 1024 <= THINKING < (MAX_OUTPUT_TOKENS or THINKING + 1):
    raise ImproperlyConfigured(
        f"ONECLAW_THINKING is {THINKING}; it must be 0, or at least 1024 and less than ONECLAW_MAX_OUTPUT_TOKENS."
    )
# US dollars per million tokens, by the start of a model's name; a model without prices shows no cost. Those of
# Anthropic's own server are known.
PRICES = environment.prices("ONECLAW_PRICES", KNOWN_PRICES if ANTHROPIC_API_KEY and not ANTHROPIC_BASE_URL else "")
# Whether the fast model gives a conversation a title after its first answer.
TITLES = environment.flag("ONECLAW_TITLES", True)

# -- What the agent does by itself ----------------------------------------------------------------


@dataclass(frozen=True)
class HeartbeatDefaults:
    """How often the agent looks through HEARTBEAT.md by itself."""

    # Disabled for all, with every other schedule, or the default that people can change, off or on.
    mode: str = environment.choice("ONECLAW_HEARTBEAT", ["disabled", "off", "on"], "off")
    # The default minutes from one to the next, and the default hours in which they come.
    every_minutes: int = environment.whole("ONECLAW_HEARTBEAT_MINUTES", 30, 5, 1440)
    hours: tuple[int, int] = environment.hours("ONECLAW_HEARTBEAT_HOURS", "8-22")
    # The tokens of a day of one person, after which no model is asked by a schedule of theirs; 0: no limit.
    day_max_tokens: int = environment.whole("ONECLAW_HEARTBEAT_TOKENS", 100_000, 0, 1_000_000_000)


HEARTBEAT = HeartbeatDefaults()

# -- Memory --------------------------------------------------------------------------------------

# The parts of memory: disabled for all, or the default that people can change, off or on.
_switching = ["disabled", "off", "on"]
SWITCHES = {
    "saved": environment.choice("ONECLAW_SWITCH_SAVED", _switching, "on"),
    "preloaded": environment.choice("ONECLAW_SWITCH_PRELOADED", _switching, "on"),
    "recent": environment.choice("ONECLAW_SWITCH_RECENT", _switching, "on"),
    "recall": environment.choice("ONECLAW_SWITCH_RECALL", _switching, "on"),
    "transcripts": environment.choice("ONECLAW_SWITCH_TRANSCRIPTS", _switching, "on"),
    "reviews": environment.choice("ONECLAW_SWITCH_REVIEWS", _switching, "on"),
}
# A folder of the server with skills, which all people may approve: each is a folder with a SKILL.md. Read only.
SKILLS = environment.existing_folder("ONECLAW_SKILLS")
# Whether memory is searched before a request to the model: for the first message of a conversation, each, or none.
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


@dataclass(frozen=True)
class Search:
    """How memory is searched."""

    # Passages that a search returns unless it is asked for another number.
    max_passages: int = environment.whole("ONECLAW_SEARCH_RESULTS", 6, 1, 60)
    # How sure (0 to 1) a search must be that there are any.
    floor: float = environment.number("ONECLAW_SEARCH_FLOOR", 0.35, 0, 1)
    snippet_max_chars: int = environment.whole("ONECLAW_SNIPPET_LENGTH", 700, 100, 4000)
    # The lowest score of a passage that is sent with a message: how likely it answers.
    recall_floor: float = environment.number("ONECLAW_RECALL_FLOOR", 0.25, 0, 1)
    # Up to so many chunks a query is compared with every vector. Above it, the signs of the vectors select candidates
    # for the comparison.
    exact_max_chunks: int = environment.whole("ONECLAW_EXACT_UNITS", 20_000, 0, 10_000_000)
    # How many skills it finds for a message; and how many are in the system text of a conversation, or are sent with a
    # message when there are more.
    max_candidate_skills: int = environment.whole("ONECLAW_SKILLS_CANDIDATES", 10, 1, 100)
    max_skills: int = environment.whole("ONECLAW_SKILLS_IN_PROMPT", 5, 1, 50)
    # The weights of the two parts of a search.
    vector_weight: float = environment.number("ONECLAW_VECTOR_WEIGHT", 0.7, 0, 1)
    text_weight: float = environment.number("ONECLAW_TEXT_WEIGHT", 0.3, 0, 1)
    # Days in which the recency of a dated note halves. MEMORY.md does not age, and recency only breaks ties.
    half_life_days: float = environment.number("ONECLAW_HALF_LIFE", 30, 0.1, 36_500)
    # Maximal marginal relevance: 1 ranks by relevance alone, lower values rank near-duplicates lower.
    relevance: float = environment.number("ONECLAW_MMR", 0.7, 0.1, 1)


SEARCH = Search()

# -- What memory keeps only when asked ------------------------------------------------------------

# What is done with a kind of secret or personal number in a text for memory: it is masked; masked, and the person is
# asked whether it was meant to be kept; or allowed.
SCREEN = environment.choices(
    "ONECLAW_SCREEN",
    ["mask", "ask", "allow"],
    {
        "private-key": "ask",
        "key": "ask",
        "token": "ask",
        "password": "ask",
        "card": "ask",
        "iban": "ask",
        "identity": "ask",
        # People have telephone numbers remembered.
        "phone": "allow",
    },
)

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

# -- What it tells its operators ------------------------------------------------------------------

# Networks of its own to which addresses may lead that people enter on a page (oneclaw/outgoing/purposes.py).
OUTGOING_NETWORKS = environment.networks("ONECLAW_OUTGOING_NETWORKS")
# The address of a collector that is sent each event, and the secret of its signatures (whsec_ and Base64).
AUDIT_WEBHOOK = environment.address("ONECLAW_AUDIT_WEBHOOK", ["https", "http"])
AUDIT_WEBHOOK_SECRET = environment.text("ONECLAW_AUDIT_WEBHOOK_SECRET")
# How admins may open the memory of another person: each look is recorded; recorded, with a reason that they give; or
# not at all.
CURATION = environment.choice("ONECLAW_CURATION", ["recorded", "reason", "closed"], "recorded")
# The sign-in of programs (oneclaw/people/programs/signing_in.py), by allauth's identity provider. A program registers
# itself, or has a document (programs/documents.py): allauth would fetch that without our guard.
IDP_OIDC_ADAPTER = "oneclaw.people.programs.signing_in.ProgramAdapter"
IDP_OIDC_DCR_ENABLED, IDP_OIDC_DCR_REQUIRES_INITIAL_ACCESS_TOKEN = True, False
IDP_OIDC_AUTH_METHODS = ["none"]
IDP_OIDC_ACCESS_TOKEN_EXPIRES_IN = 60 * 60
# A sign-in that is not used for so long ends.
IDP_OIDC_REFRESH_TOKEN_EXPIRES_IN = 90 * 24 * 60 * 60
IDP_OIDC_RATE_LIMITS = {"client_registration": "20/m/ip"}
# What programs of people may do with memory, at most: nothing, read, read and propose, or save without asking.
PROGRAMS = environment.choice("ONECLAW_PROGRAMS", ["off", "read", "propose", "write"], "write")
# Who sends this as a bearer token reads /metrics; without it, there is no such page.
METRICS_TOKEN = environment.text("ONECLAW_METRICS_TOKEN")
# Log lines as text, or as JSON objects.
LOG_FORMAT = environment.choice("ONECLAW_LOG_FORMAT", ["text", "json"], "text")
# The standard variable of OpenTelemetry: spans are exported there. Its other variables are read by its own library.
SPANS_ENDPOINT = environment.address("OTEL_EXPORTER_OTLP_ENDPOINT", ["http", "https"])

LOG_LEVEL = environment.choice("ONECLAW_LOG_LEVEL", ["debug", "info", "warning", "error"], "warning").upper()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "oneclaw.telemetry.logs.TextLines"},
        "json": {"()": "oneclaw.telemetry.logs.JsonLines"},
    },
    "filters": {"no_probes": {"()": "oneclaw.telemetry.logs.NoProbes"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # Warnings of missing and forbidden pages are not logged: the browser shows them.
    "loggers": {"django.request": {"level": "ERROR", "filters": ["no_probes"]}},
}
