"""Small exports of other programs, in the shape in which people get them."""

import io
import json
import zipfile

DAY = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


def node(key, parent, role, content, at=None, **fields):
    author = {"role": role, "name": fields.pop("name", None), "metadata": {}}
    message = {
        "id": key,
        "author": author,
        "create_time": at,
        "update_time": None,
        "content": content if isinstance(content, dict) else {"content_type": "text", "parts": [content]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
    }
    return {"id": key, "message": message | fields, "parent": parent, "children": []}


def tree(*nodes):
    found = {each["id"]: each for each in nodes}
    for each in nodes:
        if each["parent"]:
            found[each["parent"]]["children"].append(each["id"])
    return found


ROOT = {"id": "root", "message": None, "parent": None, "children": []}

CHATGPT = {
    "title": "Tea in numbers",
    "create_time": DAY,
    "update_time": DAY + 600,
    "conversation_id": "c-1",
    "id": "c-1",
    "is_archived": False,
    "current_node": "words2",
    "mapping": tree(
        dict(ROOT, children=[]),
        node("system", "root", "system", "You are ChatGPT.", metadata={"is_visually_hidden_from_conversation": True}),
        node("about", "system", "user", {"content_type": "user_editable_context", "user_profile": "I am Ada."}),
        node("asked", "about", "user", "How much tea?", DAY + 1),
        node("first", "asked", "assistant", "A lot.", DAY + 2, metadata={"model_slug": "gpt-4"}),
        node("asked2", "about", "user", "How many cups of tea in a litre?", DAY + 10),
        node("thought", "asked2", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "Hm"}]}),
        node(
            "code",
            "thought",
            "assistant",
            {"content_type": "code", "language": "unknown", "text": "print(1000 / 240)"},
            DAY + 11,
            recipient="python",
            metadata={"model_slug": "gpt-4o"},
        ),
        node("output", "code", "tool", {"content_type": "execution_output", "text": "4.17"}, DAY + 12, name="python"),
        node("words2", "output", "assistant", "About **four** \ue200cite\ue202turn0search1\ue201cups.", DAY + 13),
        node("saved", "words2", "assistant", "Ada likes tea.", DAY + 14, recipient="bio"),
    ),
}

PICTURES = {
    "title": "A picture",
    "create_time": DAY,
    "conversation_id": "c-2",
    "current_node": "drawn",
    "mapping": tree(
        dict(ROOT, children=[]),
        node(
            "shown",
            "root",
            "user",
            {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                    "What is this?",
                ],
            },
            DAY + 1,
            metadata={"attachments": [{"name": "cup.png", "id": "x"}]},
        ),
        node(
            "drawn",
            "shown",
            "tool",
            {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}]},
            DAY + 2,
            name="dalle.text2im",
        ),
    ),
}

CLAUDE = {
    "uuid": "0f0f0f0f-0000-4000-8000-000000000001",
    "name": "Bread",
    "created_at": "2024-05-01T10:00:00.000000Z",
    "updated_at": "2024-05-01T10:05:00.000000Z",
    "account": {"uuid": "a"},
    "chat_messages": [
        {
            "uuid": "m1",
            "text": "How do I bake?",
            "content": [{"type": "text", "text": "How do I bake?"}],
            "sender": "human",
            "created_at": "2024-05-01T10:00:00.000000Z",
            "updated_at": "2024-05-01T10:00:00.000000Z",
            "attachments": [{"file_name": "list.txt", "file_size": 5, "extracted_content": "flour"}],
            "files": [{"file_name": "oven.jpg"}],
        },
        {
            "uuid": "m2",
            "text": "With yeast.",
            "content": [
                {"type": "thinking", "thinking": "They want bread."},
                {"type": "tool_use", "name": "web_search", "input": {"query": "bread"}},
                {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "A recipe"}]},
                {"type": "tool_use", "name": "conversation_search", "input": {"query": "bread"}},
                {"type": "text", "text": "With yeast."},
            ],
            "sender": "assistant",
            "created_at": "2024-05-01T10:01:00.000000Z",
            "updated_at": "2024-05-01T10:02:00.000000Z",
            "attachments": [],
            "files": [],
        },
    ],
}


def numbered(count):
    """As many small conversations of ChatGPT's."""
    return [
        {
            "title": f"Number {number}",
            "create_time": DAY + number,
            "conversation_id": f"n-{number}",
            "current_node": "a",
            "mapping": tree(
                node("q", None, "user", f"Question {number}", DAY + number),
                node("a", "q", "assistant", f"Answer {number}", DAY + number + 1),
            ),
        }
        for number in range(count)
    ]


def as_json(value):
    return json.dumps(value).encode()


OPEN_WEBUI = {
    "id": "w-1",
    "user_id": "u",
    "title": "Weather",
    "created_at": int(DAY),
    "updated_at": int(DAY) + 60,
    "archived": True,
    "pinned": False,
    "chat": {
        "title": "Weather",
        "history": {
            "currentId": "a2",
            "messages": {
                "q": {
                    "id": "q",
                    "parentId": None,
                    "childrenIds": ["a1", "a2"],
                    "role": "user",
                    "content": "Is it warm in Paris?",
                    "files": [{"type": "file", "name": "map.pdf"}],
                    "timestamp": int(DAY),
                },
                "a1": {
                    "id": "a1",
                    "parentId": "q",
                    "role": "assistant",
                    "model": "llama3.1:latest",
                    "content": '<details type="reasoning" done="true"><summary>Thought</summary>\n&gt; Hm</details>\n'
                    '<details type="tool_calls" name="weather" arguments="&quot;{\\&quot;city\\&quot;: 1}&quot;" '
                    'result="&quot;18C&quot;"><summary>Tool Executed</summary></details>\nIt is **18** degrees.',
                    "timestamp": int(DAY) + 5,
                    "annotation": {"rating": -1, "reason": "too_cold", "comment": "Wrong day"},
                },
                "a2": {
                    "id": "a2",
                    "parentId": "q",
                    "role": "assistant",
                    "model": "gpt-4o",
                    "content": "<details type='reasoning'>Hm</details>Yes.",
                    "timestamp": int(DAY) + 9,
                    "done": True,
                    "output": [
                        {"type": "reasoning", "content": [{"type": "output_text", "text": "Hm"}]},
                        {"type": "function_call", "name": "weather", "arguments": '{"city": "Paris"}'},
                        {"type": "function_call_output", "output": [{"type": "input_text", "text": "18C"}]},
                        {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]},
                    ],
                },
            },
        },
    },
}

NO_PARENT = "00000000-0000-0000-0000-000000000000"


def libre(key, parent, text, **fields):
    """A message of LibreChat's."""
    is_person = len(key) == 1
    return {
        "messageId": key,
        "parentMessageId": parent,
        "isCreatedByUser": is_person,
        "sender": "User" if is_person else "GPT-4",
        "text": text,
        "model": None if is_person else "gpt-4-turbo",
        "createdAt": "2024-05-01T16:35:11.530Z",
        "updatedAt": "2024-05-01T16:35:39.114Z",
        "unfinished": False,
        "error": False,
    } | fields


LIBRECHAT = {
    "conversationId": "l-1",
    "endpoint": "openAI",
    "title": "Boats",
    "recursive": False,
    "messages": [
        libre("a", NO_PARENT, "Which boat?", files=[{"filename": "harbour.png"}]),
        libre("a1", "a", "A red one.", feedback={"rating": "thumbsUp", "text": "Nice"}),
        libre(
            "a2",
            "a",
            "",
            content=[
                {"type": "think", "think": "Hm"},
                {"type": "tool_call", "tool_call": {"name": "search", "args": '{"q": "boat"}', "output": "Blue"}},
                {"type": "text", "text": {"value": "A blue one."}},
            ],
        ),
        libre("b", "a2", "Thanks"),
        libre("b1", "b", "An error occurred.", error=True),
    ],
}


def as_zip(files, method=zipfile.ZIP_DEFLATED):
    """{name: bytes} as a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def counts(job):
    return job.status, job.total, job.brought, job.known, job.skipped


def lines(session, **which):
    return [(message.role, message.text) for message in session.messages.filter(**which).order_by("seq")]
