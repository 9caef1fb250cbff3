"""{% constant %} … {% endconstant %}: a part of a template that depends on the language alone.

It is rendered once for each language and cached. The request and the page's context are not available inside, so that
no data of a person can be cached.
"""

from django import template
from django.template.base import Parser, Token
from django.template.context import Context
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()


class Constant(template.Node):
    """The node of a {% constant %} tag, with its rendered text by language."""

    def __init__(self, nodelist: template.NodeList) -> None:
        self.nodelist = nodelist
        self.cached: dict[str | None, SafeString] = {}

    def render(self, context: Context) -> SafeString:
        language = get_language()
        if language not in self.cached:
            empty = Context()
            # {% include %} takes the template engine from here.
            empty.template = context.template
            self.cached[language] = self.nodelist.render(empty)
        return self.cached[language]


@register.tag
def constant(parser: Parser, token: Token) -> Constant:
    nodelist = parser.parse(("endconstant",))
    parser.delete_first_token()
    return Constant(nodelist)
