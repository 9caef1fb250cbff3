"""Settings of single sign-on by SAML: who the identity provider is, and what its answers mean."""

import sys
from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import environment

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
