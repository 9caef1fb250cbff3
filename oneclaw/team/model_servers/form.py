"""The form of a model server."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from oneclaw.models import ModelServer
from oneclaw.team.model_servers.addresses import validated_address
from oneclaw.team.model_servers.offers import lines_of, parsed_offers
from oneclaw.text import UserFacingError

# Names stand in details of answers, logs and the audit log.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# In characters of the field, which 100 models do not fill.
MODELS_MAX_CHARS = 40_000


class ServerForm(forms.Form):
    """A new server, or all of one but its name."""

    name = forms.CharField(
        label=_("Name"),
        max_length=ModelServer.NAME_MAX_CHARS,
        help_text=_("Letters, digits, dots and hyphens. It cannot be changed later."),
    )
    url = forms.CharField(
        label=_("Address"),
        max_length=ModelServer.URL_MAX_CHARS,
        widget=forms.TextInput(attrs={"inputmode": "url", "placeholder": "https://models.example.org"}),
        help_text=_("Of a server that speaks the Messages API. Conversations are sent there."),
    )
    key = forms.CharField(
        label=_("Key"),
        required=False,
        max_length=ModelServer.KEY_MAX_CHARS,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("It is stored encrypted and never shown again. Leave it empty if the server needs none."),
    )
    removes_key = forms.BooleanField(label=_("Remove the stored key"), required=False)
    models = forms.CharField(
        label=_("One model in each line: name, label, price, instead of"),
        max_length=MODELS_MAX_CHARS,
        widget=forms.Textarea(
            attrs={"rows": 4, "placeholder": "llama-4, Llama at home, 0/0, claude-haiku-5-5", "spellcheck": "false"}
        ),
        help_text=_(
            "People may choose a model that has a label. The price is in US dollars per million tokens, read/written. "
            "“Instead of” names models in whose place this one answers when their server does not, separated by ;"
        ),
    )
    memory_stays_home = forms.BooleanField(
        label=_("Memory stays home: nothing of anybody’s memory is sent there"), required=False
    )
    position = forms.IntegerField(
        label=_("Order"),
        min_value=0,
        max_value=1000,
        initial=0,
        help_text=_("Servers with a smaller number are asked first."),
    )
    is_enabled = forms.BooleanField(label=_("In use"), required=False, initial=True)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, row: ModelServer | None = None, **kwargs: Any) -> None:
        self.row = row
        if row is not None:
            kwargs["initial"] = {
                "url": row.url,
                "models": lines_of(row.offers),
                "memory_stays_home": row.memory_stays_home,
                "position": row.position,
                "is_enabled": row.is_enabled,
                "version": row.version,
            }
        super().__init__(*args, **kwargs)
        if row is not None:
            del self.fields["name"]
        if row is not None and row.sealed_key:
            self.fields["key"].help_text = _(
                "One is stored. Leave it empty to keep it; for another host or port it must be entered again."
            )
        else:
            del self.fields["removes_key"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if not NAME.fullmatch(name):
            raise ValidationError(_("Use letters, digits, dots and hyphens only."))
        return name

    def clean_url(self) -> str:
        try:
            return validated_address(self.cleaned_data["url"])
        except UserFacingError as refused:
            raise ValidationError(str(refused)) from None

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"].strip()
        if not key.isascii() or not key.isprintable():
            raise ValidationError(_("A key has no such characters."))
        return key

    def clean_models(self) -> list[dict[str, Any]]:
        try:
            return parsed_offers(self.cleaned_data["models"])
        except UserFacingError as refused:
            raise ValidationError(str(refused)) from None
