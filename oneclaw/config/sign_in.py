"""Settings of who may sign in and how: sign-up, mail, single sign-on, the second factor, and SCIM."""

import sys
from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import environment

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
# How long an email address is blocked at one address of the network after five wrong passwords. The limits of passwords
# are in oneclaw/people/sign_in/attempts.py; `login_failed` is here that of codes of a second factor.
SIGN_IN_WAIT_MINUTES = 5
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

OIDC_ISSUER = environment.secure_address("ONECLAW_OIDC_ISSUER").rstrip("/")
OIDC_CLIENT_ID = environment.text("ONECLAW_OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = environment.text("ONECLAW_OIDC_CLIENT_SECRET")
if OIDC_ISSUER and not OIDC_CLIENT_ID:
    raise ImproperlyConfigured("ONECLAW_OIDC_ISSUER needs ONECLAW_OIDC_CLIENT_ID, and usually _CLIENT_SECRET.")
# The name of the provider on the sign-in page.
OIDC_NAME = environment.text("ONECLAW_OIDC_NAME", "SSO")
OIDC_SCOPES = environment.words("ONECLAW_OIDC_SCOPES", ["openid", "profile", "email"])
# The claim with the names of a person's groups.
OIDC_GROUPS_CLAIM = environment.text("ONECLAW_OIDC_GROUPS_CLAIM", "groups")
# What happens to a person whom the provider knows and OneClaw does not: an account, one that waits for an admin, none.
OIDC_SIGN_UP = environment.choice("ONECLAW_OIDC_SIGN_UP", ["open", "approval", "closed"], "open")
# Whether every address that the provider says counts as verified, also without the claim email_verified.
OIDC_TRUST_EMAIL = environment.flag("ONECLAW_OIDC_TRUST_EMAIL", False)

# The id of the provider in addresses and rows.
OIDC_PROVIDER_ID = "sso"

# -- Single sign-on (SAML, an extra) -------------------------------------------------------------

# What the identity provider publishes about itself: an address, or a file. Or its parts by themselves, below.
SAML_METADATA = environment.secure_address_or_file("ONECLAW_SAML_METADATA")
# Its name for itself; of metadata with several identity providers, the one that is meant.
SAML_IDP_ENTITY_ID = environment.text("ONECLAW_SAML_IDP_ENTITY_ID")
SAML_IDP_SSO_URL = environment.secure_address("ONECLAW_SAML_IDP_SSO_URL")
SAML_IDP_SLO_URL = environment.secure_address("ONECLAW_SAML_IDP_SLO_URL")
# The certificate of its signatures, as Base64 without the lines around it.
SAML_IDP_CERTIFICATE = environment.certificate("ONECLAW_SAML_IDP_CERTIFICATE")

# Whether people may sign in by SAML.
SAML = bool(SAML_METADATA or SAML_IDP_SSO_URL)
if SAML and find_spec("onelogin") is None:
    raise ImproperlyConfigured(
        "Sign-in by SAML needs the package python3-saml: install it with ./oneclaw.sh extra saml, or with "
        f"{sys.executable} -m pip install --require-hashes -r requirements/saml.txt"
    )
if SAML_METADATA and SAML_IDP_SSO_URL:
    raise ImproperlyConfigured(
        "ONECLAW_SAML_METADATA and ONECLAW_SAML_IDP_SSO_URL both say where the identity provider is: set one of them."
    )
if SAML_IDP_SSO_URL and not (SAML_IDP_ENTITY_ID and SAML_IDP_CERTIFICATE):
    raise ImproperlyConfigured(
        "ONECLAW_SAML_IDP_SSO_URL needs ONECLAW_SAML_IDP_ENTITY_ID and ONECLAW_SAML_IDP_CERTIFICATE: answers are "
        "checked with them."
    )

# OneClaw's name for itself; empty: the address of its metadata.
SAML_ENTITY_ID = environment.text("ONECLAW_SAML_ENTITY_ID")
# The name of the identity provider on the sign-in page.
SAML_NAME = environment.text("ONECLAW_SAML_NAME", "SSO")
# The attributes that say what is known of a person; of several, the first that is there.
SAML_ID_ATTRIBUTE = environment.text("ONECLAW_SAML_ID_ATTRIBUTE")
SAML_EMAIL_ATTRIBUTES = environment.words(
    "ONECLAW_SAML_EMAIL_ATTRIBUTE",
    [
        "email",
        "mail",
        "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
        "urn:oid:0.9.2342.19200300.100.1.3",
    ],
)
SAML_NAME_ATTRIBUTES = environment.words(
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
SAML_GROUPS_ATTRIBUTES = environment.words(
    "ONECLAW_SAML_GROUPS_ATTRIBUTE",
    [
        "groups",
        "memberOf",
        "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups",
        "http://schemas.xmlsoap.org/claims/Group",
        "urn:oid:1.3.6.1.4.1.5923.1.5.1.1",
    ],
)
# What happens to a person whom the provider knows and OneClaw does not: an account, one that waits for an admin, none.
SAML_SIGN_UP = environment.choice("ONECLAW_SAML_SIGN_UP", ["open", "approval", "closed"], "open")
# Whether every address that the provider says counts as verified, also without an attribute that says so.
SAML_TRUST_EMAIL = environment.flag("ONECLAW_SAML_TRUST_EMAIL", False)

# The id of the provider in addresses and rows.
SAML_PROVIDER_ID = "saml"

# -- Single sign-on (both) -----------------------------------------------------------------------

SOCIALACCOUNT_ADAPTER = "oneclaw.people.sign_in.single_sign_on.SingleSignOnAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "provider_class": "oneclaw.people.sign_in.provider.Provider",
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": OIDC_PROVIDER_ID,
                "name": OIDC_NAME,
                "client_id": OIDC_CLIENT_ID,
                "secret": OIDC_CLIENT_SECRET,
                "settings": {
                    "server_url": OIDC_ISSUER,
                    "scope": OIDC_SCOPES,
                    # An account with the same verified address is the person's.
                    "email_authentication": True,
                    "verified_email": OIDC_TRUST_EMAIL,
                },
            }
        ]
        if OIDC_ISSUER
        else [],
    },
    "saml": {
        "provider_class": "oneclaw.people.sign_in.saml.provider.IdentityProvider",
        "APPS": [
            {
                "provider_id": SAML_PROVIDER_ID,
                "name": SAML_NAME,
                "client_id": SAML_PROVIDER_ID,
                "settings": {"email_authentication": True, "verified_email": SAML_TRUST_EMAIL},
            }
        ]
        if SAML
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
