"""What the model is sent in place of the messages that a round covers. Pure but for the templates."""

from django.template.loader import get_template

from chat.compaction.supplement import Supplement
from oneclaw.llm.quoting import quoted


def summary_text(summary: str, maker: str, supplement: Supplement, lookup: str) -> str:
    """Return the text for a summary by `maker` with its supplement; `lookup` says how to find what it replaces."""
    return rendered(
        "summary.txt",
        summary=quoted("summary", summary),
        maker=maker,
        supplement=supplement_text(supplement),
        lookup=lookup,
    )


def supplement_text(supplement: Supplement) -> str:
    """Return the text of what is kept word for word; "" when that is nothing."""
    inside = rendered("supplement.txt", **supplement)
    return quoted("kept_word_for_word", inside) if inside else ""


def rendered(template: str, **context: object) -> str:
    return get_template(template, using="prompts").render(context).strip()
