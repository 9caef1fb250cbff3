"""How well documents_search finds the page of an answer, and how often it returns nothing where there is no answer.

    python benchmarks/documents.py [--documents 220] [--pages 4 14] [--seed 17] [--load FILES PAGES]

Documents are generated with their layouts (benchmarks/document_texts.py, document_files.py), put into a library and
read as people's files are. Each question is asked of the product, and of plain pgvector on the same chunks and vectors
in the same run: the chunks with the nearest vectors, up to as many characters. A floor for pgvector is chosen
afterwards, as the one that answers 5 % of the traps: what no installation can know.

`--load` measures instead what a library of so many files does to a conversation: search, recall and a first turn.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Results of a search, and the characters of all of them that count.
RESULTS, FOUND_CHARS = 6, 4_000
TRAPS_ANSWERED_SHARE = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=220)
    parser.add_argument("--pages", type=int, nargs=2, default=(4, 14))
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument(
        "--floors", type=float, nargs="+", help="values of ONECLAW_LIBRARY_FLOOR; by default the default"
    )
    parser.add_argument("--load", type=int, nargs=2, metavar=("FILES", "PAGES"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"ONECLAW_HOME": home, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
        os.environ["ONECLAW_LIBRARY_WHOLE"] = "0"
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        if options.load:
            import document_load

            document_load.measure(*options.load)
        else:
            retrieval(options)


def retrieval(options: argparse.Namespace) -> None:
    """Print the table of the retrieval."""
    from django.conf import settings
    from document_files import file_of
    from document_texts import documents

    from memory.library import files, reading
    from memory.models import FileChunk, FilePage, FileVersion
    from oneclaw.models import Space, User

    user = User.objects.create_user("ada@example.org")
    space = Space.objects.own_of(user)
    made, questions = documents(options.documents, tuple(options.pages), options.seed)
    names: list[str] = []
    started = time.perf_counter()
    for number, document in enumerate(made):
        name, data = file_of(number, document)
        names.append(name)
        reading.run(files.add(space, user, name, data).pk)
    seconds = time.perf_counter() - started
    states = FileVersion.objects.exclude(status="done").count()
    print(
        f"{len(made)} documents, {FilePage.objects.count()} pages, {FileChunk.objects.count()} chunks, "
        f"{states} not read; {1000 * seconds / len(made):.0f} ms a document"
    )
    known = [question for question in questions if question.kind == "known"]
    ours, took = {}, []
    for floor in options.floors or [settings.LIBRARY_LIMITS.floor]:
        settings.LIBRARY_LIMITS = replace(settings.LIBRARY_LIMITS, floor=floor)
        found = ours[f"documents_search ({floor})"] = {}
        for question in questions:
            begun = time.perf_counter()
            found[question] = product(space, user, question.text)
            took.append(time.perf_counter() - begun)
    theirs = {question: nearest(space, question.text) for question in questions}
    took.sort()
    print(f"a search: {1000 * statistics.median(took):.0f} ms median, {1000 * took[int(len(took) * 0.95)]:.0f} p95")
    traps = [question for question in questions if question.kind != "known"]
    best = sorted((theirs[question][0]["score"] for question in traps), reverse=True)
    floor = best[int(len(best) * TRAPS_ANSWERED_SHARE)]
    floored = {question: [hit for hit in hits if hit["score"] > floor] for question, hits in theirs.items()}
    for title, found in (*ours.items(), ("pgvector top-k", theirs), ("pgvector with its floor", floored)):
        ranks = [rank_of(question, found[question], names) for question in known]
        shares = [sum(rank < most for rank in ranks) / len(ranks) for most in (1, 3, RESULTS, 10**9)]
        by_kind = {
            kind: statistics.mean(not found[question] for question in traps if question.kind == kind)
            for kind in dict.fromkeys(question.kind for question in traps)
        }
        nothing = statistics.mean(not found[question] for question in traps)
        print(
            f"{title:24} page at 1: {shares[0]:.1%} · at 3: {shares[1]:.1%} · at {RESULTS}: {shares[2]:.1%} · within "
            f"{FOUND_CHARS} characters: {shares[3]:.1%} | traps answered by nothing: {nothing:.1%} ("
            + ", ".join(f"{kind} {share:.1%}" for kind, share in by_kind.items())
            + ")"
        )


def product(space: Any, user: Any, query: str) -> list[dict[str, Any]]:
    """Return what the product finds, up to FOUND_CHARS."""
    from memory.library.search import search_files

    hits = [
        {"name": each.file.name, "page": each.page, "text": each.text, "score": each.score}
        for each in search_files([space], query, user, 20)
    ]
    return within(hits)


def nearest(space: Any, query: str) -> list[dict[str, Any]]:
    """Return the chunks with the nearest vectors, up to FOUND_CHARS."""
    from django.db import connection

    from memory.index.embeddings import embedder

    model = embedder()
    assert model is not None
    asked = json.dumps(model.embed_question(query).tolist())
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT file.name, chunk.page, chunk.text, 1 - (vector.vector <=> %(asked)s::halfvec)"
            " FROM memory_filechunk chunk JOIN memory_libraryfile file ON file.id = chunk.file_id"
            " JOIN memory_filevector vector ON vector.space_id = chunk.space_id AND vector.text_key = chunk.text_key"
            " WHERE chunk.space_id = %(space)s ORDER BY vector.vector <=> %(asked)s::halfvec LIMIT 60",
            {"asked": asked, "space": space.pk},
        )
        return within([dict(zip(("name", "page", "text", "score"), row, strict=True)) for row in cursor.fetchall()])


def within(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first of `hits` whose texts together have up to FOUND_CHARS characters."""
    left, kept = FOUND_CHARS, []
    for hit in hits:
        left -= len(hit["text"])
        if left < 0:
            break
        kept.append(hit)
    return kept


def rank_of(question: Any, hits: list[dict[str, Any]], names: list[str]) -> int:
    """Return the rank, from 0, of the first hit with the answer on its page of its document; a billion without one."""
    from document_files import is_paged

    name = names[question.document]
    answer = plain(question.answer)
    for rank, hit in enumerate(hits):
        is_here = hit["name"] == name and (not is_paged(name) or hit["page"] == question.page)
        if is_here and answer in plain(hit["text"]):
            return rank
    return 10**9


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


if __name__ == "__main__":
    main()
