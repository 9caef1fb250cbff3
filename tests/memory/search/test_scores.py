"""A passage's score says how likely it answers, so that one floor fits short and long questions and small memories."""

import pytest

from chat.context.prompt import build_request
from memory.index.documents import index_document
from memory.prompt.focus import question_in
from tests.conversations import send

FACTS = """
My cat Miso eats only salmon pâté.
My dentist is Dr. Huber in the Bahnhofstrasse.
The alarm code of the cottage is with our neighbour Frieda.
My sister Clara moved to Lisbon in 2023.
The car needs winter tyres by the end of October.
My favourite tea is jasmine from the shop on the corner.
The piano tuner comes every March.
My doctor forbade me grapefruit because of the tablets.
The parents' evening is on the first Tuesday of the month.
Tom is allergic to hazelnuts.
Our landlord is Mr. Steiner, who lives upstairs.
The garden gate sticks when it rains.
The choir rehearses on Thursdays at eight.
My bicycle has a size 54 frame.
The wedding anniversary is on 9 June.
The recipe for the plum cake is from Aunt Rosa.
The heating was serviced in September by Keller AG.
My passport expires in May 2028.
The school holidays begin on 6 July.
Grandpa wears shoes of size 43.
The insurance number is in the blue folder.
The washing machine is ten years old.
Nina plays handball in the second team.
My boss Petra prefers short reports.
The bees swarm when the lime trees blossom.
The book club reads Pachinko this winter.
My flight to Oslo leaves from terminal 2.
The rent is due on the third of each month.
Uncle Beat collects stamps from Iceland.
The yoga class is on Monday evenings.
""".strip().splitlines()
QUESTIONS = [
    ("What does my cat Miso eat?", 0),
    ("Who is my dentist?", 1),
    ("Where did Clara move to?", 3),
    ("Which tea do I like?", 5),
    ("What is Tom allergic to?", 9),
    ("Who is our landlord?", 10),
    ("When does the choir rehearse?", 12),
    ("When does my passport expire?", 17),
    ("What does Petra prefer?", 23),
    ("What does the book club read?", 25),
]
TALK = (
    "Good morning! I slept badly and the coffee machine is broken again, so please be patient with me today. {} Thanks!"
)


@pytest.fixture
def notes(space, append):
    index_document(append(space, "".join(f"- {fact}\n" for fact in FACTS), path="memory/2026-11-20.md").document_id)


def test_the_right_line_scores_high_and_an_unrelated_one_low(ada, notes, search):
    found = search(ada, "What does my cat Miso eat?", min_score=0, max_results=30)
    assert "Miso" in found[0].snippet
    assert found[0].score > 0.7
    assert found[1].score < 0.3
    assert [passage.score for passage in found] == sorted((passage.score for passage in found), reverse=True)


@pytest.mark.parametrize("form", ["{}", TALK])
def test_short_and_long_first_messages_recall_their_fact_and_little_beside(ada, notes, form):
    right = others = 0
    for question, fact in QUESTIONS:
        accepted = send(ada, form.format(question))
        build_request(accepted.turn)
        accepted.message.refresh_from_db()
        lines = [item["text"] for item in accepted.message.meta["context"].get("memory", [])]
        right += f"- {FACTS[fact]}" in lines
        others += sum(text.count("\n") + 1 for text in lines) - (f"- {FACTS[fact]}" in lines)
    assert right >= 9
    assert others <= 3


def test_what_is_not_in_memory_recalls_nothing(ada, notes):
    for text in (
        "How many carbonated bishops translated the glacier?",
        "Write a poem about the sea",
        "Xulo femi kwartz?",
    ):
        accepted = send(ada, text)
        build_request(accepted.turn)
        accepted.message.refresh_from_db()
        assert accepted.message.meta["context"] == {}


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("What does my cat Miso eat?", "What does my cat Miso eat?"),
        (TALK.format("What does my cat Miso eat?"), "What does my cat Miso eat?"),
        ("I was wondering, what does my cat Miso eat?", "what does my cat Miso eat?"),
        ("Hello there, when was Jon in the U.S. with Gina? No hurry.", "when was Jon in the U.S. with Gina?"),
        # Few words keep the sentences with names, and what asks nothing is kept whole.
        ("We go to Naxos in June. When does the ferry leave?", None),
        ("It rains today. When does the ferry leave?", "When does the ferry leave?"),
        ("Tell me about the plum cake. Be brief.", None),
        ("Who plays handball with Nina? And who sings in the choir?", None),
    ],
)
def test_the_question_of_a_message_is_searched_for(text, question):
    assert question_in(text) == (question or text)
