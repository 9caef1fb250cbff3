"""What the model is sent."""

from chat import extensions
from chat.context.prompt import api_messages, build_request
from chat.conversations import transcript
from chat.extensions import Extension, PromptSection
from tests.conversations import FINISHED, TOOL_USE, send, settle


def test_the_system_prompt_stays_the_same_bytes_all_session_long(ada):
    first = send(ada)
    one = build_request(first.turn).system
    settle(first)
    late = PromptSection("late", 900, lambda session, items: "Something new.")
    extension = extensions.register(Extension("late", prompt_sections=[late]))
    try:
        two = build_request(send(ada, "More", first.message.session_id).turn).system
        fresh = build_request(send(ada).turn).system
    finally:
        extensions.unregister(extension)
    assert one == two
    assert "Something new." in fresh[0]["text"]


def test_the_prompt_names_the_agent_and_the_day(ada):
    text = build_request(send(ada).turn).system[0]["text"]
    assert "You are OneClaw" in text
    assert str(ada.day().year) in text


def test_tool_results_travel_as_user_messages_and_the_placeholder_not_at_all(ada):
    accepted = send(ada)
    results = transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], **FINISHED)
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {})
    messages = api_messages(accepted.message.session)
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[2]["content"] == [block]


def test_two_user_messages_in_a_row_become_one(ada):
    first = send(ada, "One")
    transcript.finish_turn(first.turn, first.answer, [], "failed")
    send(ada, "Two", first.message.session_id)
    messages = api_messages(first.message.session)
    assert [block["text"] for block in messages[0]["content"]] == ["One", "Two"]
    assert len(messages) == 1
