"""Sign-in of programs by OAuth 2.1, as the Model Context Protocol asks for it: a program registers itself, or its
client id is the address of a document that describes it (documents.py). Its person says on a page what it may, and it
gets tokens for that. allauth's identity provider speaks the protocol.

What a program may do is the row of oneclaw/models/keys.py, one for each person and client; the scopes of a token only
repeat it for the program.
"""

import datetime as dt
import logging
import re
from typing import Any, cast
from urllib.parse import urlsplit

from allauth.idp.oidc import views as allauth_views
from allauth.idp.oidc.adapter import DefaultOIDCAdapter
from allauth.idp.oidc.models import Client, Token
from csp.decorators import csp_replace
from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from oneclaw.audit.record import record
from oneclaw.locks import hold
from oneclaw.models import ApiKey, AuditKind, SpentRefreshToken, User
from oneclaw.people.programs import documents
from oneclaw.people.programs.form import AccessForm
from oneclaw.people.programs.grants import CONVERSATIONS_SCOPE, SCOPES, Level, most_level
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import is_fresh, to_proof

logger = logging.getLogger(__name__)

RESOURCE_PATH = "/mcp"
UNSAFE_SCHEMES = ("", "about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
# A source of the policy: nothing that begins another directive.
SOURCE = re.compile(r"https?://[\w.\-\[\]:]+|[a-z][a-z0-9+.\-]*:", re.IGNORECASE | re.ASCII)
# A consent page is valid so many seconds.
SHOWN_FOR, SHOWN_SALT = 15 * 60, "consent of a program"
GRANT_TYPES = [Client.GrantType.AUTHORIZATION_CODE, Client.GrantType.REFRESH_TOKEN]
# A program that has registered and never signed in is forgotten after this time.
UNUSED_FOR = dt.timedelta(days=1)
# What a program asks for that does not say it.
DEFAULT_SCOPES = [Level.READ.scope, Level.PROPOSE.scope]


class ProgramAdapter(DefaultOIDCAdapter):
    """What allauth's identity provider asks us: which programs may register, and for which resource."""

    scope_display: dict[str, Any] = {}

    def get_issuer(self) -> str:
        """Return the address of this server, which is that of its pages."""
        return base_of(self.request)

    def validate_client_registration(
        self,
        *,
        client: Client,
        client_metadata: dict[str, Any],
        token: Token | None,
        bearer_token: str | None,
        **kwargs: Any,
    ) -> None:
        """Register a program as a public client, which has no secret and needs PKCE, with our scopes alone."""
        if most_level() is None:
            raise ValidationError("This server lets no programs in.")
        make_public(client)

    def validate_resource_uris(self, *, uris: list[str], **kwargs: Any) -> None:
        """Raise ValidationError for another resource than /mcp of this server (RFC 8707)."""
        base = base_of(self.request)
        if any(uri.rstrip("/") not in (base, base + RESOURCE_PATH) for uri in uris):
            raise ValidationError("This server has no such resource.")


class ConsentForm(AccessForm):
    """What the person lets a program do that asks to sign in; allauth's signed `request` comes with it, and a signature
    of ours that it was shown to this person a short time ago.

    What the program asks for is chosen at first, but neither to save without asking nor to find conversations.
    """

    request = forms.CharField(widget=forms.HiddenInput)
    shown_to = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, user: User, requested_scopes: list[str], **kwargs: Any) -> None:
        asked = [level for level in (Level.READ, Level.PROPOSE) if level.scope in requested_scopes] or [Level.READ]
        super().__init__(user, *args, access={"own": max(asked).name.lower()}, **kwargs)
        self.user = user

    def clean_shown_to(self) -> str:
        try:
            said = signing.loads(self.cleaned_data["shown_to"], salt=SHOWN_SALT, max_age=SHOWN_FOR)
        except signing.BadSignature:
            said = None
        if said != [self.user.pk, self.data.get("request")]:
            raise forms.ValidationError(_("This page was open for too long. Start again in the program."))
        return ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self.errors:
            # The scopes of the tokens.
            names = {cleaned["own"], *(cleaned[name] for name in cleaned if name.startswith("space_"))} - {""}
            most = max(Level[name.upper()] for name in names)
            said = [CONVERSATIONS_SCOPE] if cleaned["conversations"] else []
            cleaned["scopes"] = [level.scope for level in Level if level <= most] + said
        return cleaned


class ConsentView(allauth_views.AuthorizationView):
    """The page on which a person says what a program may do."""

    form_class = ConsentForm
    template_name = "people/consent.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if most_level() is None:
            raise Http404
        # The form leads to the program, which listens on an address of its own, such as http://127.0.0.1:50000.
        target = source_of(request.GET.get("redirect_uri", ""))
        allowed = ["'self'", *([target] if target else [])]
        return csp_replace({"form-action": allowed})(super().dispatch)(request, *args, **kwargs)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.GET.get("code_challenge_method") != "S256":
            error = "The request needs a code_challenge with the method S256."
            return render(request, "idp/oidc/error.html", {"error": error}, status=400)
        # The sign-in of a program goes on when that of its person has ended, as a key does.
        if request.user.is_authenticated and not is_fresh(request):
            return to_proof(cast(SignedInRequest, request))
        if request.user.is_authenticated:
            follow_document(request.GET.get("client_id", ""), cast(SignedInRequest, request).user)
        response: HttpResponse = super().get(request, *args, **kwargs)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"target": source_of(self._request_info.get("redirect_uri", ""))}

    def get_initial(self) -> dict[str, Any]:
        initial: dict[str, Any] = super().get_initial()
        shown_to = signing.dumps([self.request.user.pk, initial["request"]], salt=SHOWN_SALT)
        return initial | {"shown_to": shown_to}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.POST.get("action") == "grant" and request.user.is_authenticated and not is_fresh(request):
            error = _("Your sign-in is too long ago. Start again in the program.")
            return render(request, "idp/oidc/error.html", {"error": error}, status=403)
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response

    @transaction.atomic
    def form_valid(self, form: ConsentForm) -> HttpResponse:
        client = Client.objects.get(pk=self._request_info["client_id"])
        grant(self.request.user, client, form.access())
        response: HttpResponse = super().form_valid(form)
        return response


class TokenView(allauth_views.TokenView):
    """Hand out tokens. A refresh token is valid once: when one comes again, it was stolen or its program was copied,
    and the sign-in ends."""

    @transaction.atomic
    def post(self, request: HttpRequest) -> HttpResponse:
        sent = request.POST.get("refresh_token", "")
        hashed, row = ProgramAdapter().hash_token(sent) if sent else "", None
        if hashed:
            # Of two at the same moment, the second one finds the token used.
            hold(f"refresh token {hashed}")
            if end_family(hashed):
                return JsonResponse({"error": "invalid_grant"}, status=400)
            row = Token.objects.filter(type=Token.Type.REFRESH_TOKEN, hash=hashed).first()
        key = key_of(row) if row is not None else None
        if row is not None and key is None:
            row.delete()
        try:
            response: HttpResponse = super().post(request)
        except ValidationError:
            return JsonResponse({"error": "invalid_target"}, status=400)
        if key is not None and response.status_code == 200:
            SpentRefreshToken.objects.create(key=key, hash=hashed)
        return response


@login_not_required
@require_GET
def resource_metadata(request: HttpRequest) -> HttpResponse:
    """Return where a program signs in for /mcp (RFC 9728)."""
    base = base_of(request)
    return public(
        {
            "resource": base + RESOURCE_PATH,
            "authorization_servers": [base],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "OneClaw",
        }
    )


@login_not_required
@require_GET
def server_metadata(request: HttpRequest) -> HttpResponse:
    """Return how a program signs in (RFC 8414)."""
    base = base_of(request)
    return public(
        {
            "issuer": base,
            "authorization_endpoint": base + reverse("idp:oidc:authorization"),
            "token_endpoint": base + reverse("idp:oidc:token"),
            "revocation_endpoint": base + reverse("idp:oidc:revoke"),
            "registration_endpoint": base + reverse("idp:oidc:client_registration"),
            "scopes_supported": list(SCOPES),
            "response_types_supported": ["code"],
            "grant_types_supported": [str(each) for each in GRANT_TYPES],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": True,
            "token_endpoint_auth_methods_supported": ["none"],
        }
    )


def make_public(client: Client) -> None:
    """Make `client` a public client, which has no secret and needs PKCE, with our scopes alone. Raise ValidationError
    when a browser may not be led to one of its redirect URIs."""
    if not all(map(is_safe_target, client.get_redirect_uris())):
        raise ValidationError("A redirect URI is https, http of this machine, or a scheme of the program itself.")
    client.type = Client.Type.PUBLIC
    client.name = client.name or "A program"
    client.set_grant_types(GRANT_TYPES)
    client.set_response_types([Client.ResponseType.CODE])
    client.set_scopes(list(SCOPES))
    client.set_default_scopes(DEFAULT_SCOPES)


def follow_document(client_id: str, user: User) -> None:
    """Store the program that the document at `client_id` describes, if that is the address of one and due to be read.

    When it cannot be read, what is known of the program stays.
    """
    if not documents.is_document(client_id) or not documents.is_due(client_id, user.pk):
        return
    try:
        program = documents.read(client_id)
        make_public(program)
    except (documents.ProgramDocumentError, ValidationError) as error:
        logger.warning("The document of the program %s is not used: %s", client_id, error)
        return
    program.save()


def public(data: dict[str, Any]) -> HttpResponse:
    """Return `data` for every page and program: it names addresses alone."""
    response = JsonResponse(data)
    response["Access-Control-Allow-Origin"] = "*"
    return response


def is_safe_target(uri: str) -> bool:
    """Return whether a browser may be led to `uri` with a code: https, http of this machine, or a scheme that is of the
    program itself, as mobile programs have it. Pure."""
    try:
        address = urlsplit(uri)
    except ValueError:
        return False
    if "@" in address.netloc or address.scheme in UNSAFE_SCHEMES:
        return False
    return address.scheme != "http" or address.hostname in LOOPBACK


def source_of(uri: str) -> str:
    """Return where `uri` leads, as a source of the Content-Security-Policy and for people; "" if it is unsafe. Pure."""
    if not is_safe_target(uri):
        return ""
    address = urlsplit(uri)
    found = f"{address.scheme}://{address.netloc}" if address.scheme in ("http", "https") else f"{address.scheme}:"
    return found if SOURCE.fullmatch(found) else ""


def base_of(request: HttpRequest) -> str:
    """Return the origin of the pages: the first of ONECLAW_ORIGINS, else where the request was sent."""
    return settings.ORIGINS[0] if settings.ORIGINS else request.build_absolute_uri("/").rstrip("/")


def grant(user: User, client: Client, access: dict[str, Any]) -> ApiKey:
    """Store what the program `client` may do for `user`, in place of what it might before."""
    name = client.name[: ApiKey.NAME_MAX_CHARS]
    values = {"access": access, "name": name, "created_at": timezone.now()}
    key, is_new = ApiKey.objects.update_or_create(user=user, client=client.pk, defaults=values)
    record(AuditKind.KEY_MADE if is_new else AuditKind.KEY_CHANGED, actor=user, key=key.pk, access=access)
    return key


def key_of(token: Token) -> ApiKey | None:
    """Return what the program with `token` may do; None when the person has ended that."""
    if token.user_id is None or token.client_id is None:
        return None
    keys = ApiKey.objects.live().select_related("user")
    return keys.filter(user=token.user_id, client=token.client_id).first()


def key_of_access_token(value: str) -> ApiKey | None:
    """Return what the program that sends this access token may do; None when it is not valid."""
    token = Token.objects.lookup(Token.Type.ACCESS_TOKEN, value)
    return key_of(token) if token is not None else None


def end_tokens(key: ApiKey) -> None:
    """End the tokens of the sign-in `key`."""
    if key.client:
        Token.objects.filter(user=key.user_id, client=key.client).delete()


@transaction.atomic
def end_family(hashed: str) -> bool:
    """End the sign-in whose refresh token with this hash has been used before; return whether there was one."""
    spent = SpentRefreshToken.objects.select_related("key__user").filter(hash=hashed).first()
    if spent is None:
        return False
    end_tokens(spent.key)
    record(AuditKind.KEY_REVOKED, actor=spent.key.user, key=spent.key.pk, replayed=True)
    spent.key.delete()
    return True


def remove_unused() -> int:
    """Delete expired tokens, and programs that have registered a day ago and have no token; return how many rows."""
    tokens = Token.objects.expired().delete()[0]
    granted = ApiKey.objects.exclude(client="").values("client")
    unused = Client.objects.filter(created_at__lt=timezone.now() - UNUSED_FOR).exclude(pk__in=granted)
    return tokens + unused.delete()[0]
