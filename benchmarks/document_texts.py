"""Documents for benchmarks/documents.py: their texts, and questions whose page is known, all from one seed.

A document is about one thing (a machine, a site, a contract, a meeting). Its facts stand somewhere in pages of prose,
mostly without the name of the thing, which is in the title and in the header of the pages; documents of one kind have
the same facts with other values. A question shares a word or
two of its sentence with it, and the name with the title.
"""

import random
from dataclasses import dataclass, field

SYLLABLES = (
    "bal dor fen gar hel ib jun kel lor mar nov oss pel quin ras sel tor ulm ver wyn zan thal bre cor mil".split()
)
MONTHS = "January February March April May June July August September October November".split()
PLACES = "the north car park|the old bakery|the tennis court|the bridge|the fountain|the bus stop|the chapel".split("|")

# For each kind of document: what it is called, and its facts: (text, question). {v} is the value of this document.
KINDS = {
    "press": (
        "{name} press – operating manual",
        [
            (
                "The oil must be replaced after {n} operating hours.",
                "How often is the oil of the {name} press changed?",
            ),
            ("The drive needs at most {n} kilowatts of power.", "What is the power consumption of the {name} press?"),
            ("Beside it, a noise of {n} decibels was measured.", "How much noise does the {name} press make?"),
            ("The warranty covers {n} months after delivery.", "How long is the warranty of the {name} press?"),
            ("With its frame it weighs {n} kilograms.", "What is the weight of the {name} press?"),
        ],
    ),
    "site": (
        "{name} site – handbook",
        [
            ("The gate is locked at {h} in the evening.", "When is the gate of the {name} site closed?"),
            ("In an emergency everybody gathers at {p}.", "Where do people of the {name} site meet in an emergency?"),
            ("{n} employees work there in three shifts.", "How many employees does the {name} site have?"),
            ("The water tank holds {n} litres.", "How large is the water tank at the {name} site?"),
        ],
    ),
    "contract": (
        "Contract with {name} Ltd.",
        [
            (
                "Either party may terminate with notice of {n} days.",
                "What is the notice period of the contract with {name}?",
            ),
            ("For each week of delay a penalty of {n} euros is due.", "Which penalty does {name} pay for a delay?"),
            ("Invoices are payable within {n} days.", "When do invoices of {name} have to be paid?"),
            ("Disputes are decided by the court of {c}.", "Which court decides in a dispute with {name}?"),
        ],
    ),
    "meeting": (
        "Minutes of the {name} project meeting",
        [
            (
                "It was decided to postpone the launch to {m}.",
                "To when was the launch of the {name} project postponed?",
            ),
            ("The budget was raised to {n} thousand euros.", "What is the new budget of the {name} project?"),
            ("{c} will take over the documentation.", "Who writes the documentation of the {name} project?"),
        ],
    ),
}
# Asked of a thing that is there; no document answers.
UNANSWERED = {
    "press": ["What colour is the {name} press painted?", "Who invented the {name} press?"],
    "site": ["Which architect built the {name} site?", "What does lunch cost at the {name} site?"],
    "contract": ["Which bank does {name} use?", "Who is the chairwoman of {name}?"],
    "meeting": [
        "Which song was sung at the {name} project party?",
        "What did the caterer of the {name} project serve?",
    ],
}
# Asked of nothing that is there.
FOREIGN = [
    "Who won the chess championship in Reykjavik?", "How do I bake sourdough bread?", "What is the capital of Mongolia?",
    "Which vaccines does a kitten need?", "How is a violin tuned?", "When did the French Revolution begin?",
    "What is the recipe for ratatouille?", "How far away is the moon?", "Who painted the ceiling of the Sistine Chapel?",
    "Which trees lose their leaves first?", "How do bees find their way home?", "What does photosynthesis produce?",
    "How long does it take to learn Portuguese?", "Which knots do sailors use?", "What causes the northern lights?",
    "How many strings does a harp have?", "Why do cats purr?", "Who wrote the Divine Comedy?",
    "What is the best time to prune roses?", "How do you remove a wine stain from linen?",
]  # fmt: skip

SUBJECTS = "The operator|Each supervisor|The shift leader|A qualified person|The contractor|The department|The committee|The supplier|The auditor|The project office".split(
    "|"
)
VERBS = "checks|records|reviews|prepares|confirms|documents|compares|collects|approves|forwards".split("|")
OBJECTS = "the delivery notes|the safety checklist|the list of spare parts|the inspection report|the plan of the week|the calibration data|the open questions|the incident log|the cleaning schedule|the drawings of the pipes|the inventory|the training records|the weekly figures|the forms of the visitors|the cable routes|the temperatures".split(
    "|"
)
WHEN = "before the start of work|once a week|after each change|at the end of the month|together with the quality team|as described in the annex|unless agreed otherwise|in the form that was handed out|when the seal is broken|in the presence of a second person|before it is passed on|with the date and a signature".split(
    "|"
)
HEADINGS = "Scope|Responsibilities|Preparation|Procedure|Records|Maintenance|Deviations|Annex|Safety|Transport|Storage|Training|Review".split(
    "|"
)


@dataclass
class Page:
    """A page: a heading and paragraphs."""

    heading: str
    paragraphs: list[str] = field(default_factory=list)


@dataclass
class Document:
    """A document: what it is about, and its pages."""

    kind: str
    name: str
    title: str
    pages: list[Page]


@dataclass(frozen=True)
class Question:
    """A question, the document and page (from 1) of its answer, and the sentence that answers; None: a trap."""

    text: str
    document: int | None = None
    page: int = 0
    answer: str = ""
    kind: str = ""


def documents(count: int, pages: tuple[int, int], seed: int) -> tuple[list[Document], list[Question]]:
    """Return `count` documents with between `pages` pages, and their questions."""
    chance = random.Random(seed)
    names = unique_names(chance, count + 60)
    made: list[Document] = []
    questions: list[Question] = []
    kinds = list(KINDS)
    for number in range(count):
        kind, name = kinds[number % len(kinds)], names[number]
        title, facts = KINDS[kind]
        document = Document(kind, name, title.format(name=name), prose(chance, chance.randint(*pages)))
        for text, question in chance.sample(facts, len(facts)):
            page = chance.randrange(len(document.pages))
            answer = text.format(
                n=chance.randint(11, 989),
                h=f"{chance.randint(17, 22)}:{chance.choice(['00', '15', '30', '45'])}",
                p=chance.choice(PLACES),
                m=f"{chance.choice(MONTHS)} {chance.randint(2026, 2031)}",
                c=chance.choice(names[count + 20 :]),
            )
            at = chance.randrange(len(document.pages[page].paragraphs))
            sentences = document.pages[page].paragraphs[at].split(". ")
            sentences.insert(chance.randrange(len(sentences)), answer.rstrip("."))
            document.pages[page].paragraphs[at] = ". ".join(sentences)
            questions.append(Question(question.format(name=name), number, page + 1, answer, "known"))
        made.append(document)
        questions += [Question(text.format(name=name), kind="unsaid") for text in UNANSWERED[kind]]
    for name in names[count : count + 20]:
        asked = [question for _, facts in KINDS.values() for _, question in facts]
        questions += [Question(text.format(name=name), kind="unknown name") for text in chance.sample(asked, 4)]
    return made, questions + [Question(text, kind="foreign") for text in FOREIGN]


def prose(chance: random.Random, count: int) -> list[Page]:
    """Return `count` pages of paragraphs that say little."""
    pages = []
    for _ in range(count):
        page = Page(chance.choice(HEADINGS))
        for _ in range(chance.randint(4, 7)):
            sentences = [
                f"{chance.choice(SUBJECTS)} {chance.choice(VERBS)} {chance.choice(OBJECTS)} {chance.choice(WHEN)}"
                for _ in range(chance.randint(3, 6))
            ]
            page.paragraphs.append(". ".join(sentences) + ".")
        pages.append(page)
    return pages


def unique_names(chance: random.Random, count: int) -> list[str]:
    """Return `count` different names, such as "Torfen"."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(chance.sample(SYLLABLES, chance.choice([2, 2, 3]))).capitalize()] = None
    return list(found)
