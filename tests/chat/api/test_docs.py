"""Every command of docs/api.md works as it stands there, and its answer has the names that the page shows."""

import json
import re
import shlex
from urllib.parse import urlencode

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from oneclaw.people import keys
from oneclaw.spaces import lifecycle as spaces
from oneclaw.threads import in_database
from tests import scripted as model
from tests.stage import ROOT

BLOCK = re.compile(r"```(sh|json)\n(.*?)```", re.DOTALL)


def commands_of(text):
    return [line for line in text.replace("\\\n", " ").splitlines() if line.startswith("curl ")]


def request_of(command):
    """(method, address, headers, body) of a curl command."""
    words = iter(shlex.split(command)[1:])
    method, address, headers, body, query = "", "", {}, None, ""
    for word in words:
        if word in ("-X", "-H", "-d", "-F", "--data-urlencode"):
            value = next(words)
        if word == "-X":
            method = value
        elif word == "-H":
            name, _, content = value.partition(": ")
            headers[name] = content
        elif word == "-d":
            body = value
        elif word == "-F":
            name, _, file = value.partition("=@")
            body = encode_multipart(BOUNDARY, {name: SimpleUploadedFile(file, (ROOT / file).read_bytes())})
        elif word == "--data-urlencode":
            query = "?" + urlencode([tuple(value.split("=", 1))])
        elif word != "-G":
            address = word
    return method or ("GET" if body is None else "POST"), address + query, headers, body


def names_in(shown, told):
    """That what was told has every name that is shown."""
    if isinstance(shown, dict):
        assert shown.keys() <= told.keys(), shown.keys() - told.keys()
        for name, value in shown.items():
            names_in(value, told[name])
    elif isinstance(shown, list) and shown:
        assert told
        names_in(shown[0], told[0])


async def test_every_command_works_and_says_what_is_shown(transactional_db, async_client, ada, scripted):
    scripted.default = lambda body: model.answer("In Lisbon.")
    _, token = await in_database(keys.make, ada, "Program", "never")
    space = await in_database(spaces.create, ada, spaces.SpaceDraft("Bakery"))
    known = {"$ONECLAW": "", "$KEY": token, "$SPACE": str(space.pk)}
    told, asked = None, set()
    for kind, text in BLOCK.findall((ROOT / "docs" / "api.md").read_text()):
        if kind == "json":
            shown = json.loads(text)
            if "code" not in shown:
                names_in(shown, told)
            continue
        for command in commands_of(text):
            for name, value in known.items():
                command = command.replace(name, value)
            method, address, headers, body = request_of(command)
            media_type = MULTIPART_CONTENT if isinstance(body, bytes) else "application/json"
            response = await async_client.generic(method, address, body or "", content_type=media_type, headers=headers)
            assert response.status_code in (200, 202, 204), (command, response.content)
            told = json.loads(response.content) if response.content else None
            if "/messages?wait" in address:
                known["$SESSION"] = told["session"]
            path = address.split("?")[0].replace(known.get("$SESSION", "-"), "{session_id}")
            path = path.replace(f"/spaces/{space.pk}/", "/spaces/{space_id}/")
            asked.add((method, path.replace("MEMORY.md", "{path}")))
    described = json.loads((await async_client.get("/api/v1/openapi.json")).content)["paths"]
    offered = {(method.upper(), path) for path, methods in described.items() for method in methods}
    text = (ROOT / "docs" / "api.md").read_text()
    assert asked <= offered
    assert all(path in text for _, path in offered - asked)
