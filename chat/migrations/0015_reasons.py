"""Why an answer or a call failed becomes a code with parameters, where a sentence was stored."""

from django.db import migrations, models

from chat.migrations._sentences import (
    CHECK_NOW,
    FAILED_CARD,
    SLOT,
    convert,
    convert_cards,
    english,
    parse_or_other,
)

FAILURES = [
    ("model.failed", "The model could not answer. Try again."),
    ("model.no_key", "No API key is set. Set ANTHROPIC_API_KEY, start OneClaw again, and send your message once more."),
    ("model.key_refused", "The model's server refused the API key. Check ANTHROPIC_API_KEY and start OneClaw again."),
    ("model.rate_limited", "The model's server takes no more requests for the moment. Wait a little and try again."),
    ("model.overloaded", "The model is overloaded. Wait a little and try again."),
    (
        "model.unreachable",
        "The model's server cannot be reached. Check the network and ANTHROPIC_BASE_URL, then try again.",
    ),
    ("model.timed_out", "The model's server fell silent. Try again."),
    (
        "model.took_too_long",
        "This answer took longer than one may, so it was ended. What arrived is kept: continue it, or try again.",
    ),
    (
        "model.answer_too_large",
        "This answer grew larger than one may be, so it was ended. What arrived is kept: continue it, or try again.",
    ),
    ("model.cut_off", "The connection to the model broke before the answer was whole. What arrived is kept."),
    (
        "model.context_too_long",
        "This conversation has become too long for the model. Start a new one: what is remembered comes along.",
    ),
    (
        "model.spend_limit",
        "The account at the model's provider has reached its spending limit. Raise it there, then try again.",
    ),
    ("model.unknown_model", "The model's server does not know this model. Choose another one, or check ONECLAW_MODEL."),
    (
        "model.bad_request",
        "The model's server did not accept the request. Start a new conversation if it happens again.",
    ),
    ("model.refused", "The model declined to answer this. Put it in other words, or start a new conversation."),
    ("model.unreadable", "The model's server answered with something that cannot be read. Try again."),
    ("model.server_fault", "The model's server had a fault of its own. Try again."),
]
# With the seconds that one of them is.
WAITING = "The model's server takes no more requests for the moment. Try again in %(number)d "
UNITS = {"seconds": 1, "second": 1, "minutes": 60, "minute": 60}
WAITING_FORMS = [(unit, f"{WAITING}{unit}.") for unit in UNITS]
CALLS = [
    ("call.interrupted", "Interrupted."),
    ("call.unknown_tool", "There is no tool named “%(name)s” in this conversation."),
    ("call.arguments_broken", "The arguments are not a JSON object."),
    ("call.arguments_broken", "The arguments are nested too deeply."),
    ("call.arguments_too_large", "The arguments have %(size)d bytes; at most %(most)d are taken."),
    ("call.parameter_missing", "Parameter '%(name)s' is required and must be non-empty."),
    ("call.busy", "Somebody else is writing there: this was given up. Call it again."),
    ("call.failed", "The tool %(name)s failed: %(error)s."),
]


def failure(text):
    found = parse_or_other([*FAILURES, *WAITING_FORMS], text)
    if found is None or found["code"] not in UNITS:
        return found
    seconds = found["params"]["number"] * UNITS[found["code"]]
    return {"code": "model.rate_limited", "params": {"seconds": seconds}}


def failure_in_english(stored):
    seconds = stored["params"].get("seconds") if stored else None
    if seconds is None:
        return english(FAILURES, stored)
    number, unit = (seconds, "second") if seconds < 90 else (round(seconds / 60), "minute")
    return WAITING % {"number": number} + (f"{unit}." if number == 1 else f"{unit}s.")


def to_codes(apps, schema_editor):
    def turn_to_code(turn):
        turn.error = failure(turn.error_text)
        return True

    def card_to_code(card):
        """Of a failed call; what others say of themselves is for their own apps."""
        summary = card.get("summary", "")
        if card.get("state") != "failed" or not isinstance(summary, str):
            return card
        found = parse_or_other(CALLS, summary)
        return {**card, "summary": found} if found and found["code"] != "other" else card

    def card_to_slot(answer):
        answer.html = FAILED_CARD.sub(lambda card: SLOT.format(card[1]), answer.html)
        return True

    Turn, Message = apps.get_model("chat", "Turn"), apps.get_model("chat", "Message")
    convert(Turn.objects.exclude(error_text=""), turn_to_code, ["error"])
    results = Message.objects.filter(role="tool", meta__has_key="cards").only("meta")
    convert(results, lambda message: convert_cards(message, card_to_code), ["meta"])
    convert(Message.objects.filter(html__contains="card--failed").only("html"), card_to_slot, ["html"])


def to_sentences(apps, schema_editor):
    def turn_to_sentence(turn):
        turn.error_text = failure_in_english(turn.error)
        return True

    def card_to_sentence(card):
        summary = card.get("summary", "")
        return card if isinstance(summary, str) else {**card, "summary": english(CALLS, summary)}

    Turn, Message = apps.get_model("chat", "Turn"), apps.get_model("chat", "Message")
    convert(Turn.objects.filter(error__isnull=False), turn_to_sentence, ["error_text"])
    results = Message.objects.filter(role="tool", meta__has_key="cards").only("meta")
    convert(results, lambda message: convert_cards(message, card_to_sentence), ["meta"])
    # Slots are filled by no earlier version: such an answer is rendered when it is shown.
    Message.objects.filter(html__contains="card--failed").update(html_version=0)


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0014_jobs"),
    ]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="error",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, CHECK_NOW),
        migrations.RunPython(to_codes, to_sentences),
        migrations.RunSQL(CHECK_NOW, migrations.RunSQL.noop),
        migrations.RemoveField(
            model_name="turn",
            name="error_text",
        ),
    ]
