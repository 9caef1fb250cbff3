"""Attached files as HTML, made of what a message's content says of them: no query, however many there are."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chat.models import Attachment


def attachments_html(content: Sequence[Mapping[str, Any]]) -> SafeString:
    """The files of a message: images to look at, others to download; "" when it has none."""
    items = [attachment_html(block) for block in content if block["type"] == "attachment"]
    return format_html('<ul class="attached">{}</ul>', SafeString("".join(items))) if items else SafeString()


def attachment_html(block: Mapping[str, Any]) -> SafeString:
    """One file as a list item. `block` is an Attachment.reference()."""
    address = f"/files/{block['id']}"
    if block["kind"] == Attachment.Kind.IMAGE:
        return format_html(
            '<li><a class="attached__image" href="{0}" target="_blank" rel="noopener">'
            '<img src="{0}?small" alt="{1}" width="{2}" height="{3}" loading="lazy"></a></li>',
            *(address, block["name"], block["width"], block["height"]),
        )
    return format_html(
        '<li><a class="attached__file" href="{}" download>{}<span class="attached__name">{}</span>'
        '<span class="attached__size">{}</span></a></li>',
        *(address, render_to_string("icons/file.html"), block["name"], filesizeformat(block["size"])),
    )
