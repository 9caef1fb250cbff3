"""The messages of SAML: the request for a sign-in, the answer to it, and the request to sign out.

An answer counts only when its one assertion is signed by the identity provider, is meant for this installation and for
one request, and has not expired. That the request is of the same browser, and is answered once, is for the views.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from oneclaw.people.sign_in.claims import OVERFLOW_CLAIM
from oneclaw.people.sign_in.saml.errors import RefusedMessageError
from oneclaw.people.sign_in.saml.metadata import REDIRECT_BINDING, identity_provider

if TYPE_CHECKING:
    from onelogin.saml2.response import OneLogin_Saml2_Response
    from onelogin.saml2.settings import OneLogin_Saml2_Settings

MESSAGE_MAX_CHARS = 500_000
# A request to sign out arrives compressed, in the address.
SIGN_OUT_MAX_CHARS, SIGN_OUT_MAX_SECONDS = 16_000, 600
POST_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
UNSPECIFIED = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"
EMAIL_FORMAT = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
ASSERTION = {"saml": "urn:oasis:names:tc:SAML:2.0:assertion"}
# The attributes that say whether the address is verified, and that there are too many groups to send.
VERIFIED_ATTRIBUTES = ["email_verified", "http://schemas.auth0.com/email_verified"]
OVERFLOW_ATTRIBUTE = "http://schemas.microsoft.com/claims/groups.link"


def toolkit_settings(
    request: HttpRequest, signed_messages: bool = False, with_provider: bool = True
) -> "OneLogin_Saml2_Settings":
    """Return the settings of python3-saml for this installation. Raise IdentityProviderError.

    `signed_messages` asks for a signature of the message itself, besides that of the assertion. Without
    `with_provider` they describe OneClaw alone.
    """
    from onelogin.saml2.settings import OneLogin_Saml2_Settings

    described = {
        "strict": True,
        "sp": {
            "entityId": settings.SAML.entity_id or request.build_absolute_uri(reverse("saml_metadata")),
            "assertionConsumerService": {"url": answer_address(request), "binding": POST_BINDING},
            "singleLogoutService": {
                "url": request.build_absolute_uri(reverse("saml_sign_out")),
                "binding": REDIRECT_BINDING,
            },
            "NameIDFormat": UNSPECIFIED,
        },
        "security": {
            "wantAssertionsSigned": True,
            "wantMessagesSigned": signed_messages,
            "wantNameId": False,
            "wantAttributeStatement": False,
            "requestedAuthnContext": False,
            "rejectDeprecatedAlgorithm": True,
            "allowRepeatAttributeName": True,
            "allowSingleLabelDomains": True,
            "metadataValidUntil": "",
            "metadataCacheDuration": "",
        },
    }
    if with_provider:
        described["idp"] = identity_provider()
    return OneLogin_Saml2_Settings(described, sp_validation_only=not with_provider)


def answer_address(request: HttpRequest) -> str:
    """Return the address at which answers to sign-ins arrive."""
    return request.build_absolute_uri(reverse("saml_answer"))


def begin_sign_in(request: HttpRequest, ask_again: bool) -> tuple[str, str]:
    """Return the address of the identity provider with a new request for a sign-in, and the id of the request.

    `ask_again` lets the provider ask although it knows who is there. Raise IdentityProviderError.
    """
    from onelogin.saml2.auth import OneLogin_Saml2_Auth

    toolkit = OneLogin_Saml2_Auth(request_data(request), toolkit_settings(request))
    # An empty text: without one, the current address would be sent along.
    address = toolkit.login(return_to="", force_authn=ask_again)
    return address, toolkit.get_last_request_id()


def read_answer(request: HttpRequest) -> dict[str, Any]:
    """Return what the answer in `request` says of the person.

    Raise RefusedMessageError, or IdentityProviderError.
    """
    from onelogin.saml2.response import OneLogin_Saml2_Response

    message = request.POST.get("SAMLResponse", "")
    if not 0 < len(message) <= MESSAGE_MAX_CHARS:
        raise RefusedMessageError("invalid", "There is no answer, or it is too long.")
    toolkit = toolkit_settings(request)
    try:
        response = OneLogin_Saml2_Response(toolkit, message)
        response.is_valid(request_data(request), raise_exceptions=True)
        require_whole_confirmation(response, answer_address(request))
        return said(response, toolkit)
    except RefusedMessageError:
        raise
    except Exception as error:  # the toolkit lets every error of its parsers through
        raise RefusedMessageError(reason_of(error), str(error)) from error


def require_whole_confirmation(response: "OneLogin_Saml2_Response", address: str) -> None:
    """Raise RefusedMessageError unless the assertion of `response` names its audience and, in one confirmation, the
    request, the `address` and its expiry.

    The toolkit compares what is there, and takes what is missing for granted. It has made sure that there is one
    assertion, which is the signed one.
    """
    from onelogin.saml2.utils import OneLogin_Saml2_Utils

    request_id = response.get_in_response_to()
    if not request_id:
        raise RefusedMessageError("unsolicited")
    if not response.get_audiences():
        raise RefusedMessageError("elsewhere", "The assertion names no audience.")
    path = ".//saml:Assertion/saml:Subject/saml:SubjectConfirmation"
    for confirmation in response.get_xml_document().iterfind(path, ASSERTION):
        data = confirmation.find("saml:SubjectConfirmationData", ASSERTION)
        if confirmation.get("Method") != BEARER or data is None:
            continue
        expiry = data.get("NotOnOrAfter")
        is_valid = expiry and OneLogin_Saml2_Utils.parse_SAML_to_time(expiry) > OneLogin_Saml2_Utils.now()
        if is_valid and data.get("Recipient") == address and data.get("InResponseTo") == request_id:
            return
    raise RefusedMessageError("elsewhere", "No confirmation names the request, the recipient and its expiry.")


def said(response: "OneLogin_Saml2_Response", toolkit: "OneLogin_Saml2_Settings") -> dict[str, Any]:
    """Return what the valid `response` says, in the words of the claims of OpenID Connect."""
    attributes: Mapping[str, list[Any]] = {**response.get_friendlyname_attributes(), **response.get_attributes()}
    name_id, form = response.get_nameid() or "", response.get_nameid_format()
    if settings.SAML.id_attribute:
        identifier = first(attributes, [settings.SAML.id_attribute])
    else:
        identifier = "" if form == TRANSIENT else name_id
    if not identifier:
        raise RefusedMessageError("no-id", f"No lasting id: {settings.SAML.id_attribute or form}.")
    groups = next((attributes[name] for name in settings.SAML.groups_attributes if name in attributes), None)
    found = {
        "sub": uid(toolkit.get_idp_data()["entityId"], identifier),
        # Which request it answers; see `pre_social_login`.
        "nonce": response.get_in_response_to(),
        "name_id": name_id,
        "session_index": response.get_session_index() or "",
        "auth_time": asked_at(response),
        "email": first(attributes, settings.SAML.email_attributes) or (name_id if form == EMAIL_FORMAT else ""),
        "email_verified": first(attributes, VERIFIED_ATTRIBUTES).lower() in ("true", "1"),
        "name": first(attributes, settings.SAML.name_attributes),
        "groups": [each for each in groups or [] if isinstance(each, str)],
    }
    if groups is None and OVERFLOW_ATTRIBUTE in attributes:
        del found["groups"]
        found[OVERFLOW_CLAIM] = True
    return found


def asked_at(response: "OneLogin_Saml2_Response") -> int | None:
    """Return when the identity provider has asked the person, in seconds of the epoch; None when it does not say.

    The toolkit has made sure that there is one statement of it in the one assertion, which is the signed one.
    """
    from onelogin.saml2.utils import OneLogin_Saml2_Utils

    statement = response.get_xml_document().find(".//saml:Assertion/saml:AuthnStatement", ASSERTION)
    if statement is None:
        return None
    try:
        return int(OneLogin_Saml2_Utils.parse_SAML_to_time(statement.get("AuthnInstant", "")))
    except ValueError:
        return None


def first(attributes: Mapping[str, list[Any]], names: Iterable[str]) -> str:
    """Return the first text of the first of `names` that `attributes` have; "" when there is none. Pure."""
    values = (value for name in names for value in attributes.get(name, []) if isinstance(value, str))
    return next(values, "")


def uid(entity_id: str, identifier: str) -> str:
    """Return what identifies a person: another provider's people are other people. Pure."""
    return hashlib.sha256(f"{entity_id} {identifier}".encode()).hexdigest()


@dataclass(frozen=True)
class SignOut:
    """A valid request of the identity provider to end sign-ins of a person."""

    name_id: str
    # The sessions at the provider that end; empty: all.
    session_indexes: list[str]
    # Where the browser goes on with the answer; empty when the provider has no such address.
    answer_url: str


def read_sign_out(request: HttpRequest) -> SignOut:
    """Return the request to sign out in the address of `request`.

    Raise RefusedMessageError, or IdentityProviderError.
    """
    from onelogin.saml2.auth import OneLogin_Saml2_Auth
    from onelogin.saml2.logout_request import OneLogin_Saml2_Logout_Request
    from onelogin.saml2.utils import OneLogin_Saml2_Utils
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

    if not 0 < len(request.GET.get("SAMLRequest", "")) <= SIGN_OUT_MAX_CHARS:
        raise RefusedMessageError("invalid", "There is no request to sign out, or it is too long.")
    if any(len(values) > 1 for _name, values in request.GET.lists()):
        raise RefusedMessageError("invalid", "A parameter comes twice: one could be signed and the other one be read.")
    data, toolkit_of_messages = request_data(request), toolkit_settings(request, signed_messages=True)
    toolkit = OneLogin_Saml2_Auth(data, toolkit_of_messages)
    # Before anything is unpacked.
    if not toolkit.validate_request_signature(data["get_data"]):
        raise RefusedMessageError("unsigned", "The request to sign out is not signed by the identity provider.")
    try:
        message = OneLogin_Saml2_Logout_Request(toolkit_of_messages, data["get_data"]["SAMLRequest"])
        message.is_valid(data, raise_exceptions=True)
        xml = message.get_xml()
        sent_at = OneLogin_Saml2_Utils.parse_SAML_to_time(OneLogin_Saml2_XML.to_etree(xml).get("IssueInstant"))
        if abs(OneLogin_Saml2_Utils.now() - sent_at) > SIGN_OUT_MAX_SECONDS:
            raise RefusedMessageError("expired", "The request to sign out is too old.")
        # Without an address for it, the toolkit would answer to any that the request names.
        answer_url = toolkit.process_slo(keep_local_session=True) if toolkit.get_slo_response_url() else ""
        return SignOut(
            OneLogin_Saml2_Logout_Request.get_nameid(xml),
            OneLogin_Saml2_Logout_Request.get_session_indexes(xml),
            answer_url or "",
        )
    except RefusedMessageError:
        raise
    except Exception as error:  # the toolkit lets every error of its parsers through
        raise RefusedMessageError(reason_of(error), str(error)) from error


def own_metadata(request: HttpRequest) -> bytes:
    """Return what OneClaw publishes for the identity provider, as XML."""
    found = toolkit_settings(request, with_provider=False).get_sp_metadata()
    return found if isinstance(found, bytes) else str(found).encode()


def request_data(request: HttpRequest) -> dict[str, Any]:
    """Return `request` in the form that python3-saml reads."""
    return {
        "https": "on" if request.is_secure() else "off",
        "http_host": request.get_host(),
        "script_name": "",
        "path_info": request.path,
        "get_data": request.GET.dict(),
        "post_data": request.POST.dict(),
        "query_string": request.META.get("QUERY_STRING", ""),
        "validate_signature_from_qs": True,
    }


def reason_of(error: Exception) -> str:
    """Return the code of the sentence for an `error` of the toolkit. Pure."""
    from onelogin.saml2.errors import OneLogin_Saml2_ValidationError as Errors

    if not isinstance(error, Errors):
        return "invalid"
    reasons = {
        Errors.STATUS_CODE_IS_NOT_SUCCESS: "denied",
        Errors.NO_SIGNATURE_FOUND: "unsigned",
        Errors.NO_SIGNED_ASSERTION: "unsigned",
        Errors.NO_SIGNED_MESSAGE: "unsigned",
        Errors.INVALID_SIGNATURE: "forged",
        Errors.WRONG_ISSUER: "forged",
        Errors.DEPRECATED_SIGNATURE_METHOD: "unsigned",
        Errors.DEPRECATED_DIGEST_METHOD: "unsigned",
        Errors.ASSERTION_EXPIRED: "expired",
        Errors.ASSERTION_TOO_EARLY: "expired",
        Errors.SESSION_EXPIRED: "expired",
        Errors.RESPONSE_EXPIRED: "expired",
        Errors.WRONG_AUDIENCE: "elsewhere",
        Errors.WRONG_DESTINATION: "elsewhere",
        Errors.WRONG_SUBJECTCONFIRMATION: "elsewhere",
    }
    return reasons.get(error.code, "invalid")
