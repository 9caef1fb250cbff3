"""The shape of a request's body: the SDK's own types, with unknown fields refused.

The SDK describes bodies as TypedDicts, which allow unknown fields, check lists only when they are read, and try every
member of a union. `_strict` turns their schema into one that refuses unknown fields, checks lists at once and chooses
the member of a union by its `type` or `role`. Errors then name the path as the API does:
"messages.0.content.1.text.colour: Extra inputs are not permitted".
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tests.strict_api.refusals import invalid

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

Schema = dict[str, Any]

# Marks the parts of an error's path that the API does not show: a role, and whether a value is a string or a list.
HIDDEN = "\x00"
# Fields of the API that the SDK's types no longer have, and their types. parameters.py says who accepts them.
SAMPLING = {"temperature": (int, float), "top_p": (int, float), "top_k": (int,)}
# What a server of the plain Messages API knows.
PLAIN_FIELDS = {
    *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "stop_sequences", "metadata"),
    *("thinking", "temperature", "top_p", "top_k"),
}


def check_shape(body: Mapping[str, Any], *, beta: bool, counting: bool = False) -> None:
    """Raise RefusedError when the body does not have the shape of a request, or of a request to count its tokens.

    `beta` allows the fields of all betas; betas.py checks that the header names the beta of each.
    """
    from pydantic_core import ValidationError

    sampling = set() if counting else SAMPLING.keys() & body.keys()
    for name in sorted(sampling):
        if isinstance(body[name], bool) or not isinstance(body[name], SAMPLING[name]):
            raise invalid(f"{name}: Input should be a valid number")
    stream = body.get("stream", False)
    if not isinstance(stream, bool):
        raise invalid("stream: Input should be a valid boolean")
    ignored = sampling if counting else {*sampling, "stream"}
    try:
        _validator(beta, counting).validate_python({k: v for k, v in body.items() if k not in ignored}, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise invalid(f"{_path(first['loc'])}: {_sentence(first['msg'])}") from None


def check_plain(body: Mapping[str, Any]) -> None:
    """Raise RefusedError when the body has a field that a server of the plain Messages API does not know."""
    for name in body:
        if name not in PLAIN_FIELDS:
            raise invalid(f"{name}: Extra inputs are not permitted")
    thinking = body.get("thinking")
    if isinstance(thinking, Mapping) and thinking.get("type") not in ("enabled", "disabled"):
        raise invalid(
            f"thinking: Input tag '{thinking.get('type')}' found using 'type' does not match any of the expected tags: "
            "'enabled', 'disabled'"
        )


def load_shapes() -> None:
    """Build the validators, which takes half a second, before the first request."""
    for beta in (False, True):
        for counting in (False, True):
            _validator(beta, counting)


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location if not str(part).startswith(HIDDEN)) or "body"


def _sentence(message: str) -> str:
    """Return the sentence of an error without the names that this module made."""
    expected = message.partition("expected tags:")[2]
    # The validator writes the hidden character in two ways.
    if "\\x00" not in expected and HIDDEN not in expected:
        return message
    tags = expected.replace("\\x00", "").replace(HIDDEN, "").strip()
    return f"Input should be one of {tags}"


@functools.cache
def _validator(beta: bool, counting: bool) -> "SchemaValidator":
    # The SDK takes a second to load, which only servers that get a request need.
    from anthropic.types import message_count_tokens_params, message_create_params
    from anthropic.types.beta import message_count_tokens_params as beta_count
    from anthropic.types.beta import message_create_params as beta_create
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    types: dict[tuple[bool, bool], Any] = {
        (False, False): message_create_params.MessageCreateParamsBase,
        (True, False): beta_create.MessageCreateParamsBase,
        (False, True): message_count_tokens_params.MessageCountTokensParams,
        (True, True): beta_count.MessageCountTokensParams,
    }
    schema: Schema = dict(TypeAdapter(types[beta, counting]).core_schema)
    definitions = {each["ref"]: each for each in schema.get("definitions", ())}
    return SchemaValidator(_strict(schema, definitions))


# -- From the SDK's schema to a strict one -------------------------------------------------------


def _strict(schema: Any, definitions: Mapping[str, Schema]) -> Any:
    """Return the schema with unknown fields forbidden, lists for iterables, and tagged unions."""
    if isinstance(schema, list | tuple):
        return type(schema)(_strict(each, definitions) for each in schema)
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "union":
        schema = _tagged(schema, definitions)
    inside = {key: _strict(value, definitions) for key, value in schema.items() if key != "discriminator"}
    if "discriminator" in schema:
        inside["discriminator"] = schema["discriminator"]
    if schema.get("type") == "generator":
        inside["type"] = "list"
    if schema.get("type") == "typed-dict" and not _is_open(schema):
        inside["extra_behavior"] = "forbid"
    return inside


def _is_open(schema: Schema) -> bool:
    """Return whether the TypedDict is meant to have further fields, as the JSON schema of a tool.

    The SDK marks it in the types of the Messages API, and forgets the mark in those of the betas.
    """
    if schema.get("cls_name") == "InputSchemaTyped" or getattr(schema.get("cls"), "__name__", "") == "InputSchemaTyped":
        return True
    config = schema.get("config") or {}
    return "allow" in (schema.get("extra_behavior"), config.get("extra_fields_behavior"))


def _tagged(union: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return the union as a tagged one, so that one member is tried, and its errors are those that count."""
    members = [choice[0] if isinstance(choice, tuple) else choice for choice in union["choices"]]
    # Objects of a response may be passed to the SDK; in a body they are plain JSON.
    members = [member for member in members if _kind(member, definitions) is not None]
    objects = [member for member in members if _kind(member, definitions) == "object"]
    others = [member for member in members if _kind(member, definitions) != "object"]
    kinds = [_kind(member, definitions) for member in others]
    if len(set(kinds)) < len(kinds):
        return {**union, "choices": members}
    parts = dict(zip(kinds, others, strict=True))
    if len(objects) == 1:
        parts["object"] = objects[0]
    elif objects:
        by_tag = _by_tag(objects, definitions)
        if by_tag is None:
            return {**union, "choices": members}
        parts["object"] = by_tag
    if len(parts) == 1:
        return next(iter(parts.values()))
    return {
        "type": "tagged-union",
        "discriminator": _kind_of_value,
        "choices": {HIDDEN + str(kind): member for kind, member in parts.items()},
    }


def _by_tag(objects: list[Schema], definitions: Mapping[str, Schema]) -> Schema | None:
    """Return the union of TypedDicts by the field that tells them apart; None when there is none."""
    for field in ("type", "role"):
        tags: dict[str, Schema] = {}
        default = None
        for member in objects:
            fields = _resolved(member, definitions).get("fields", {})
            if field not in fields:
                break
            expected = list(_literals(fields[field]))
            tags |= {str(value): member for value in expected}
            if not fields[field].get("required"):
                default = str(expected[0])
        else:
            hidden = HIDDEN if field == "role" else ""
            return {
                "type": "tagged-union",
                "discriminator": field if default is None and not hidden else _tag_reader(field, hidden, default),
                "choices": {hidden + tag: member for tag, member in tags.items()},
            }
    return None


def _tag_reader(field: str, hidden: str, default: str | None) -> Callable[[Any], str | None]:
    def tag(value: Any) -> str | None:
        found = value.get(field) if isinstance(value, dict) else None
        found = default if found is None else found
        return None if found is None else f"{hidden}{found}"

    return tag


def _kind_of_value(value: Any) -> str:
    for kind, name in ((str, "str"), (list, "list"), (dict, "object")):
        if isinstance(value, kind):
            return HIDDEN + name
    return f"{HIDDEN}other"


def _kind(schema: Schema, definitions: Mapping[str, Schema]) -> str | None:
    """Return the kind of JSON that the schema accepts; None for classes of responses."""
    schema = _resolved(schema, definitions)
    kind = schema["type"]
    if kind in ("model", "is-instance"):
        return None
    if kind == "tagged-union" or (kind == "union" and "choices" in schema):
        choices = schema["choices"].values() if isinstance(schema["choices"], dict) else schema["choices"]
        inside = {_kind(choice[0] if isinstance(choice, tuple) else choice, definitions) for choice in choices}
        return inside.pop() if len(inside) == 1 else "other"
    names = {"typed-dict": "object", "list": "list", "generator": "list", "str": "str"}
    if kind in ("function-wrap", "function-after", "definitions", "json-or-python", "chain"):
        within = schema.get("schema")
        return _kind(within, definitions) if within else "other"
    return names.get(kind, "other" if kind != "dict" else "dict")


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    while schema["type"] == "definition-ref":
        schema = definitions[schema["schema_ref"]]
    return schema


def _literals(schema: Schema) -> Iterator[Any]:
    if schema["type"] == "literal":
        yield from schema["expected"]
    elif isinstance(schema.get("schema"), dict):
        yield from _literals(schema["schema"])
