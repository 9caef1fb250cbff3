"""What a large library does to a conversation: `python benchmarks/documents.py --load FILES PAGES`.

The pages become chunks, terms and vectors as those of uploaded files do; only the extraction from PDF is left out. Ada
has the library, Bob has none; both have the same memory. What is measured is the part of a first turn that may know of
it: the head of the conversation (system text and tools), and what is recalled for the message.
"""

import resource
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

MEMORY_LINES, RUNS = 300, 30
QUESTIONS = ["How often is the oil changed?", "What is the penalty for a delay?", "Who takes over the documentation?"]


def measure(count: int, pages: int) -> None:
    from django.db import connection
    from document_texts import documents

    from memory.library import indexing, vectors
    from memory.library.search import search_files
    from memory.models import FileChunk, FileVersion, LibraryFile
    from oneclaw.models import Space, User, clock

    people = [User.objects.create_user(f"{name}@example.org") for name in ("ada", "bob")]
    for user in people:
        remember(user)
    ada = people[0]
    space = Space.objects.own_of(ada)
    begun = time.perf_counter()
    for number in range(count):
        (document,), _ = documents(1, (pages, pages), number)
        file = LibraryFile.objects.create(space=space, name=f"{number}.pdf")
        version = FileVersion.objects.create(
            file=file, owner=ada, number=1, size=0, sha256="", status="done", finished_at=clock.read_database_time(),
            kind="pdf", pages=pages, pages_read=pages,
        )  # fmt: skip
        texts = [f"{document.title}\n{page.heading}\n" + "\n".join(page.paragraphs) for page in document.pages]
        indexing.write(version, space.pk, indexing.content_of(version, file.name, texts))
        vectors.embed_file(file.pk)
    seconds = time.perf_counter() - begun
    chunks = FileChunk.objects.count()
    print(f"{count} files of {pages} pages: {chunks} chunks, indexed in {seconds:.0f} s")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    compared(people, "before searches")
    before = resident_megabytes()
    first = took(lambda: search_files([space], QUESTIONS[0], ada))
    print(f"first search of the library: {first[0]:.0f} ms, {first[1]:.0f} ms of processor time")
    later = [took(lambda at=at: search_files([space], QUESTIONS[at % len(QUESTIONS)], ada)) for at in range(RUNS)]
    print("later ones: {:.0f} ms median, {:.0f} ms of processor time".format(*medians(later)))
    print(f"memory of the process: {before} MB before the first search, {resident_megabytes()} MB at most")
    compared(people, "after searches")


def compared(people: Sequence[Any], when: str) -> None:
    """Print what the first turns of `people` take, in turn: milliseconds, and those of processor time."""
    taken: dict[str, list[tuple[float, float]]] = {user.email: [] for user in people}
    for at in range(RUNS + 3):
        for user in people:
            measured = first_turn(user)
            # The first ones load the model of the vectors.
            if at >= 3:
                taken[user.email].append(measured)
    for email, times in taken.items():
        print(
            "head and recall of {} {}: {:.1f} ms median, {:.1f} ms of processor time".format(
                email, when, *medians(times)
            )
        )


def took(act: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds that `act` takes, and those of this process's processor time."""
    begun, worked = time.perf_counter(), time.process_time()
    act()
    return 1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - worked)


def medians(times: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the median of each of the two numbers."""
    return statistics.median(each[0] for each in times), statistics.median(each[1] for each in times)


def remember(user: Any) -> None:
    """Store the same lines in the memory of `user`, and index them."""
    from memory.documents.write import Append, Author, Source, apply
    from memory.index.documents import index_document
    from oneclaw.models import Space

    lines = "\n".join(f"- Line {number}: the visit of day {number} was pleasant." for number in range(MEMORY_LINES))
    revision = apply(Space.objects.own_of(user), "MEMORY.md", Append(lines), Author(Source.PAGE, user))
    assert revision is not None
    index_document(revision.document_id)


def first_turn(user: Any) -> tuple[float, float]:
    """Return the milliseconds, and those of processor time, of what a first message of a new conversation asks of
    memory."""
    import uuid

    from chat.context.heads import make_head
    from chat.models import ChatSession, Message, default_agent
    from memory.access.reading import reading
    from memory.prompt import message_context

    session = ChatSession.objects.create(key=str(uuid.uuid4()), owner=user, agent=default_agent())
    message = Message.objects.create(session=session, seq=1, role="user", text="Was the visit of day 7 pleasant?")

    def asked() -> None:
        with reading():
            make_head(session)
            message_context.message_items(session, message)

    return took(asked)


def resident_megabytes() -> int:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
