"""{% constant %} … {% endconstant %}: a part of a template that is the same for everybody who reads its language.

It is rendered once for each language and kept. Neither the request nor anything else of the page's context is to be had
inside, so that nothing of a person can be kept with it.
"""

from django import template
from django.template.base import Parser, Token
from django.template.context import Context
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()


class Constant(template.Node):
    def __init__(self, nodelist: template.NodeList) -> None:
        self.nodelist = nodelist
        self.kept: dict[str | None, SafeString] = {}

    def render(self, context: Context) -> SafeString:
        language = get_language()
        if language not in self.kept:
            nothing = Context()
            # What includes others by their name asks it for its engine.
            nothing.template = context.template
            self.kept[language] = self.nodelist.render(nothing)
        return self.kept[language]


@register.tag
def constant(parser: Parser, token: Token) -> Constant:
    nodelist = parser.parse(("endconstant",))
    parser.delete_first_token()
    return Constant(nodelist)
