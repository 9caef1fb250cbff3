"""Which addresses are open without a sign-in; every other one asks for it."""

from collections.abc import Iterator

from django.urls import URLPattern, get_resolver

# The API checks its key itself, and answers also where nothing is.
OPEN = {
    "healthz",
    "readyz",
    "metrics",
    "diagrams",
    # A program signs in there, and proves itself by what its person has allowed.
    ".well-known/oauth-protected-resource",
    ".well-known/oauth-protected-resource/mcp",
    ".well-known/oauth-authorization-server",
    "oauth/clients",
    "oauth/token",
    "oauth/revoke",
    "admin/login/",
    "accounts/login/",
    "accounts/logout/",
    "accounts/signup/",
    "accounts/inactive/",
    "accounts/password/reset/",
    "accounts/password/reset/done/",
    "^accounts/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
    "accounts/password/reset/key/done/",
    "accounts/confirm-email/",
    "accounts/confirm-email/<str:key>/",
    "accounts/waiting/",
    # Says that an owner must confirm a new password, and to nobody whose.
    "accounts/new-password/",
    # Each checks that a sign-in has been begun by password, or begins one.
    "accounts/second-factor/authenticate/",
    "accounts/second-factor/webauthn/login/",
    "accounts/sso/",
    "accounts/sso/callback/",
    "accounts/sso/cancelled/",
    "accounts/saml/",
    "accounts/saml/acs/",
    "accounts/saml/acs/finish/",
    "accounts/saml/logout/",
    "accounts/saml/metadata/",
    "invited/<str:token>/",
    "welcome/<str:uid>/<str:token>/",
    "first/<str:token>/",
    "manifest.webmanifest",
    "favicon.ico",
    "s/<str:token>",
    "^api/",
}


def patterns(of, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for each in of:
        path = f"{prefix}{each.pattern}"
        if isinstance(each, URLPattern):
            yield path, each
        else:
            yield from patterns(each.url_patterns, path)


def test_only_these_addresses_are_open_without_a_sign_in():
    found = {
        path
        for path, pattern in patterns(get_resolver().url_patterns)
        if not getattr(pattern.callback, "login_required", True)
    }
    # These check a key or a token themselves.
    with_key = ("api/v1/", "scim/v2/")
    assert {path for path in found if path != "api/sessions" and not path.startswith(with_key)} == OPEN
