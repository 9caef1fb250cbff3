"""Files by HTTP: attached one at a time before the message is sent, taken back, and served to their owner alone."""

import uuid

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse, HttpResponseNotModified, JsonResponse
from django.shortcuts import redirect
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from chat.attachments import chosen, disk, store
from chat.attachments.examine import FileRefusedError, too_large_error
from chat.context.files import stored_name
from chat.conversations import lifecycle
from chat.models import Attachment
from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.web.rate_limit import TooManyRequestsError, uploads

# Nothing in a file may run, load or send anything, whatever type a browser takes it for.
SANDBOX = "sandbox; default-src 'none'"
# A browser puts an image that is opened by itself into a page of its own making, with a style.
SANDBOX_OF_IMAGES = "sandbox; script-src 'none'; connect-src 'none'; frame-src 'none'; object-src 'none'"


@require_POST
def attach(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Keep one file (`file`) for a message of this conversation, which need not exist yet.

    JSON {id, name, size, kind}; status 422 and {code, text} when it is refused, 409 when the person may only read the
    conversation.
    """
    try:
        refuse_reader(request.user, session_id)
    except lifecycle.SessionNotFoundError:
        raise Http404 from None
    except lifecycle.ReadOnlySessionError as error:
        return JsonResponse({"code": "read_only", "text": error.sentence}, status=409)
    try:
        upload = request.FILES.get("file")
    except OSError:
        # A large upload is first a temporary file.
        refusal = store.not_stored_error("file")
        return JsonResponse({"code": refusal.code, "text": refusal.sentence}, status=422)
    if not isinstance(upload, UploadedFile):
        return JsonResponse({"code": "bad_frame", "text": "There is no file."}, status=422)
    try:
        kept = kept_file(request.user, upload)
    except TooManyRequestsError as refusal:
        headers = {"Retry-After": str(refusal.retry_after)}
        return JsonResponse({"code": refusal.code, "text": refusal.sentence}, status=429, headers=headers)
    except FileRefusedError as refusal:
        return JsonResponse({"code": refusal.code, "text": refusal.sentence}, status=422)
    return JsonResponse({"id": str(kept.pk), "name": kept.name, "size": kept.size, "kind": kept.kind})


def refuse_reader(user: User, session_id: uuid.UUID) -> None:
    """Raise ReadOnlySessionError when the person may only read the conversation, and SessionNotFoundError when it is
    hidden from them. One that does not exist yet will be theirs."""
    session = lifecycle.find(user, session_id)
    if session is not None:
        lifecycle.refuse_unless_writer(user, session)


def kept_file(user: User, upload: UploadedFile, attachment_id: uuid.UUID | None = None) -> Attachment:
    """Store `upload` as an attachment of `user`. Raise Refused when it is not accepted, and TooManyRequestsError."""
    uploads.take(user.pk)
    name, size = store.clean_name(upload.name or ""), upload.size or 0
    if size > settings.FILES.max_bytes:
        raise too_large_error(name, size)
    return store.store_file(user, name, upload.read(), attachment_id)


@require_POST
def remove(request: SignedInRequest, attachment_id: uuid.UUID) -> HttpResponse:
    """Delete an attachment that is not sent; do nothing when it does not exist or is sent."""
    store.remove(request.user, attachment_id)
    return HttpResponse(status=204)


@require_safe
def serve(request: SignedInRequest, attachment_id: uuid.UUID) -> HttpResponse:
    """Send the file, or with `small` the preview of a large image. Images are shown; other files are downloads; what
    was chosen from an app is shown on its page."""
    file = store.visible_file(request.user, attachment_id)
    if file is None:
        raise Http404
    if file.source:
        page = chosen.address(request.user, file)
        if not page:
            raise Http404
        # The page asks in this way whether a drafted file is there still.
        return HttpResponse() if request.method == "HEAD" else redirect(page)
    is_small = "small" in request.GET and bool(file.small_type)
    etag = f'"{file.sha256}{"-small" if is_small else ""}"'
    response: HttpResponse
    if request.headers.get("If-None-Match") == etag:
        response = HttpResponseNotModified()
    else:
        data = disk.read(file.owner_id, stored_name(file) if is_small else str(file.pk))
        if data is None:
            raise Http404
        response = HttpResponse(data, content_type=content_type(file, is_small=is_small))
    is_image = file.kind == Attachment.Kind.IMAGE
    response["Content-Disposition"] = content_disposition_header(not is_image, file.name) or "attachment"
    response["ETag"] = etag
    # Checked each time, so that another person who signs in with this browser does not see it.
    response["Cache-Control"] = "private, no-cache"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Content-Security-Policy"] = SANDBOX_OF_IMAGES if is_image else SANDBOX
    return response


def content_type(file: Attachment, *, is_small: bool) -> str:
    """Return the type to send; any text is sent as plain text, so that none of it is a page."""
    if file.kind == Attachment.Kind.TEXT:
        return "text/plain"
    return file.small_type if is_small else file.media_type
