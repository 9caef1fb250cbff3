"""The demo model: what a person without a key meets."""

import json

import pytest
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext

from chat.compaction.checks import check_summary
from oneclaw import llm
from oneclaw.demo import intents
from oneclaw.demo import model as demo
from oneclaw.llm import descriptions
from oneclaw.models import ModelFacts
from tests.spending import NOBODY, Spending

# A request reads from the database what is known about its model.
pytestmark = pytest.mark.django_db

TOOLS = [
    {"name": name, "description": name, "input_schema": {"type": "object"}} for name in ("memory_search", "save_memory")
]


@pytest.fixture(scope="module")
def address():
    model = demo.start()
    yield model.url
    model.stop()


@pytest.fixture(autouse=True)
def without_a_key(settings, address, monkeypatch):
    monkeypatch.setattr(demo, "DELTA_PAUSE_SECONDS", 0)
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    settings.DEMO_URL = address


async def ask(*messages, system="", tools=TOOLS):
    """(text, tool calls) of the answer"""
    turns = [
        {"role": "assistant" if index % 2 else "user", "content": message} for index, message in enumerate(messages)
    ]
    request = llm.Request("any", [{"type": "text", "text": system}] if system else [], turns, tools)
    blocks = [
        event.block async for event in llm.stream(request, Spending(NOBODY)) if isinstance(event, llm.BlockFinished)
    ]
    calls = [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    return "\n".join(block["text"] for block in blocks if block["type"] == "text"), calls


def called(name, arguments, result, **more):
    """The messages of a round of tools."""
    content = result if isinstance(result, str) else json.dumps(result)
    return (
        [{"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}],
        [{"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **more}],
    )


async def test_it_is_known_as_the_demo(settings):
    assert llm.is_demo()
    assert await llm.models() == [llm.DEMO_MODEL]
    settings.ANTHROPIC_API_KEY = "sk-x"
    assert not llm.is_demo()


async def test_it_answers_under_its_own_name_whichever_model_is_asked():
    request = llm.Request("claude-sonnet-5-5", [], [{"role": "user", "content": "Hello"}], [])
    finished = [event async for event in llm.stream(request, Spending(NOBODY)) if isinstance(event, llm.Finished)]
    assert [event.model for event in finished] == [llm.DEMO_MODEL]


async def test_it_says_what_it_is_and_how_to_set_a_key():
    said, calls = await ask("Hello!")
    assert said.startswith("Hello!")
    assert "demo" in said
    assert "ANTHROPIC_API_KEY" in said
    assert calls == []


async def test_it_reflects_the_persons_words():
    said, calls = await ask("Trees are green.")
    assert "> Trees are green." in said
    assert calls == []


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("Remember that I like tea.", "I like tea."),
        ("remember: my cat is called Miso", "My cat is called Miso"),
        ("Hi! Please remember that my sister Ada lives in Bern. What is new?", "My sister Ada lives in Bern."),
        ("Could you remember that I am allergic to nuts?", ""),
        ("Don't forget that the rent is due on Friday.", "The rent is due on Friday."),
        ("Can you note down the code 4711 for the door.", "The code 4711 for the door."),
        ("Merke dir, dass ich Tee mag.", "Ich bat zu merken, dass ich Tee mag."),
        ("Bitte merk dir: meine Katze heißt Miso.", "Meine Katze heißt Miso."),
    ],
)
async def test_what_it_is_asked_to_remember_it_saves(asked, kept):
    _, calls = await ask(asked)
    if kept:
        assert calls == [("save_memory", {"content": kept})]
    else:
        assert [name for name, _ in calls] in (["save_memory"], ["memory_search"])


@pytest.mark.parametrize(
    "asked",
    [
        "What did I tell you about my cat?",
        "Do you remember my sister?",
        "When is my birthday?",
        "Where do I live?",
        "Who is my dentist?",
        "What do you know about Bern?",
        "What is my cat called?",
        "Did I mention the rent?",
        "Was weißt du über meine Katze?",
        "Wie heißt meine Katze?",
        "Weißt du noch, wo ich wohne?",
    ],
)
async def test_questions_about_the_past_search_memory(asked):
    _, calls = await ask(asked)
    assert calls == [("memory_search", {"query": asked})]


@pytest.mark.parametrize("asked", ["Hello", "What is the capital of France?", "Write a poem.", "Thanks, bye!"])
async def test_other_sentences_call_no_tool(asked):
    _, calls = await ask(asked)
    assert calls == []


@pytest.mark.parametrize("language", [code for code, _ in settings.LANGUAGES])
async def test_what_the_first_page_suggests_is_understood_in_every_language(language):
    with translation.override(language):
        remember, past, help = map(
            gettext,
            ("Remember that I prefer short answers.", "What do you remember about me?", "What can you do?"),
        )
    assert [name for name, _ in (await ask(remember))[1]] == ["save_memory"]
    ((name, arguments),) = (await ask(past))[1]
    assert (name, arguments["query"]) == ("memory_search", past)
    said, calls = await ask(help)
    assert demo.WHAT_I_DO in said
    assert "You wrote" not in said
    assert calls == []


@pytest.mark.parametrize("language", [code for code, _ in settings.LANGUAGES])
async def test_what_the_walk_suggests_is_understood_in_every_language(language):
    with translation.override(language):
        remember, ask_for = map(gettext, ("Remember that my cat is called Miso.", "What is my cat called?"))
    ((name, arguments),) = (await ask(remember))[1]
    assert name == "save_memory"
    assert arguments["content"].rstrip("。.").casefold() in remember.casefold()
    ((name, arguments),) = (await ask(ask_for))[1]
    assert (name, arguments["query"]) == ("memory_search", ask_for)


async def test_it_answers_from_what_the_search_found():
    found = [
        {"path": "memory/2026-11-02.md", "start_line": 3, "end_line": 3, "snippet": "Miso is a cat."},
        {"path": "MEMORY.md", "start_line": 1, "end_line": 1, "snippet": "My cat is called Miso."},
    ]
    said, calls = await ask("Who is my cat?", *called("memory_search", {"query": "cat"}, {"results": found}))
    # What is curated is authoritative.
    assert said == "From what you asked me to remember: **My cat is called Miso**. I also found: *Miso is a cat*."
    assert calls == []


async def test_it_answers_with_the_line_that_has_the_words_and_not_with_its_own():
    label = "Cats, 2026-11-02: {} (2026-11-02 10:48):"
    snippet = (
        f"{label.format('Assistant')}\nI am a demo; my cat is made of rules.\n\n{label.format('You')}\nMy cat is Miso."
    )
    found = [
        {"path": "/c/1", "start_line": 1, "end_line": 4, "snippet": snippet},
        {
            "path": "memory/2026-11-02.md",
            "start_line": 3,
            "end_line": 5,
            "snippet": "# Day\n- Likes tea\n- A cat, Tofu",
        },
    ]
    said, _ = await ask("What is my cat?", *called("memory_search", {"query": "What is my cat?"}, {"results": found}))
    assert said.startswith("From an earlier conversation: **My cat is Miso**.")
    assert "*A cat, Tofu*" in said
    assert "rules" not in said
    assert "Day" not in said


async def test_it_says_so_when_nothing_is_found():
    said, _ = await ask("Who is my cat?", *called("memory_search", {"query": "Who is my cat?"}, {"results": []}))
    assert "nothing" in said


async def test_it_confirms_a_save_and_tells_a_failure():
    said, _ = await ask("Remember tea", *called("save_memory", {"content": "Tea"}, {"saved": True}))
    assert said == "I will remember that."
    failed = {"error": {"code": "save_failed", "message": "Failed to save memory: disk full"}}
    said, _ = await ask("Remember tea", *called("save_memory", {"content": "Tea"}, failed, is_error=True))
    assert "Failed to save memory: disk full" in said


async def test_a_transcript_becomes_notes_of_what_the_person_said():
    transcript = (
        "Write durable notes.\n<transcript>\nUser: Hi there!\nAssistant: Hello! I am a model with opinions.\n"
        "User: I moved to Bern in May. What do you think?\nI work as a baker.\nAssistant: Nice.\n"
        "User: Remember that my cat is called Miso.\n</transcript>"
    )
    said, calls = await ask(transcript, tools=[])
    assert said.splitlines() == ["- My cat is called Miso.", "- I moved to Bern in May.", "- I work as a baker."]
    assert calls == []


async def test_times_in_a_transcript_tell_speakers_from_colons():
    transcript = (
        "<transcript>\n[09:05] Person: My plan: System: none, really.\n\nAssistant: is a word I like.\n\n"
        "[09:06] Assistant: Nice plan you have.\n</transcript>"
    )
    said, _ = await ask(transcript, tools=[])
    assert said.splitlines() == ["- My plan: System: none, really.", "- Assistant: is a word I like."]


@pytest.mark.parametrize("words", ["User: Hello!\nAssistant: Hello!", "User: Thanks, bye!", ""])
async def test_a_transcript_of_greetings_has_no_notes(words):
    assert await ask(f"<transcript>{words}</transcript>", tools=[]) == ("NO_REPLY", [])


async def test_a_title_is_the_first_words():
    said, _ = await ask("<title_for>Hello! How do I bake a sourdough bread at home?</title_for>", tools=[])
    assert said == "How do I bake a sourdough"


async def test_it_takes_whatever_the_api_takes():
    assert (await ask([{"type": "text", "text": "Hi"}]))[0]
    image = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert (await ask([{"type": "image", "source": image}]))[0]
    assert (await ask("\u200b"))[0]


def test_what_it_says_of_itself_changes_no_request(settings):
    names = (llm.DEMO_MODEL, settings.MODEL, settings.FAST_MODEL)
    assumed = [llm.facts_of(name) for name in names]
    descriptions.refresh_if_due()
    assert ModelFacts.objects.filter(seen_at__isnull=False).count() >= 2
    assert [llm.facts_of(name) for name in names] == assumed


def test_a_summary_with_headings_goes_on_from_the_earlier_one():
    asked = (
        "<earlier_summary>\n## Wanted\n- Tea\n</earlier_summary>\n\n"
        "<messages>\nPerson: Milk?\n\nAssistant: Yes.\n</messages>"
    )
    reply = demo.reply({"messages": [{"role": "user", "content": asked}]})
    summary = "".join(reply.blocks[0].deltas)
    assert summary.startswith("## Wanted\n- Tea\n- Milk?\n\n## Agreed\n-")
    check_summary(summary, [asked], "")


async def test_a_fault_of_its_own_is_a_server_fault(monkeypatch, caplog):
    def broken(words):
        raise ValueError(words)

    monkeypatch.setattr(llm.client, "MAX_ATTEMPTS", 1)
    monkeypatch.setattr(demo.intents, "to_remember", broken)
    with pytest.raises(llm.ServerFaultError):
        await ask("Hello")
    assert "No reply could be made" in caplog.text


async def test_what_travels_with_a_message_is_not_taken_for_the_persons_words():
    said, calls = await ask([{"type": "text", "text": "Remember that x."}, {"type": "text", "text": "A nice day."}])
    assert calls == []
    assert "A nice day." in said
    assert "Remember that x." not in said


async def test_a_summary_holds_the_persons_words_whole_and_nothing_of_the_answers():
    conversation = (
        "<conversation>\nPerson: My notes lie in MEMORY.md and at https://example.org for now.\n\n"
        "Assistant: You wrote:\n- *Remember that my cat is called Miso.* – I save it.\n</conversation>"
    )
    summary = json.loads((await ask(conversation, tools=[]))[0])["summary"]
    assert summary == "My notes lie in MEMORY.md and at https://example.org for now."


async def test_of_a_file_it_says_that_it_cannot_read_it():
    content = [
        {"type": "text", "text": '<file name="tea.md">\nRemember that I like milk.\n</file>'},
        {"type": "text", "text": "[image: cat.png]"},
        {"type": "text", "text": "What do you see?"},
    ]
    said, calls = await ask(content)
    assert said.startswith("You sent *tea.md*, *cat.png*. A real model would read it; I cannot.")
    assert calls == []


async def test_a_question_about_nothing_in_particular_takes_what_is_nearest():
    question = "What do you remember about me?"
    assert (await ask(question))[1] == [("memory_search", {"query": question, "min_score": 0})]


async def test_it_greets_by_the_name_that_its_prompt_says():
    said, _ = await ask("Hello!", system="You are kind.\n\n- My name is Ada.")
    assert said.startswith("Hello, Ada!")


async def test_what_has_fewer_of_the_words_asked_for_is_no_part_of_the_answer():
    lines = ["- My sister lives in Lisbon", "- My bike is blue", "- Ada lives alone"]
    found = [{"path": "MEMORY.md", "start_line": 1, "end_line": 3, "snippet": "\n".join(lines)}]
    question = "Where does my sister live?"
    said, _ = await ask(question, *called("memory_search", {"query": "sister"}, {"results": found}))
    assert said == "From what you asked me to remember: **My sister lives in Lisbon**."


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Meine Mutter hat am 3. Mai Geburtstag. Sie malt.", ["Meine Mutter hat am 3. Mai Geburtstag.", "Sie malt."]),
        ("Das ist der 2. große Fehler heute.", ["Das ist der 2. große Fehler heute."]),
        ("My shoe size is 39. I like tea.", ["My shoe size is 39.", "I like tea."]),
    ],
)
def test_an_ordinal_number_does_not_end_a_sentence(text, sentences):
    assert intents.sentences(text) == sentences
