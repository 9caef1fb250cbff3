"""How fast search and indexing are on generated memories, next to the barest SQL that could do the same.

    python benchmarks/search.py [--spaces 1000] [--chunks 1000] [--large 10000 100000] [--queries 200]
    python benchmarks/search.py --embedding

Fills a database of its own (in a temporary data folder, which is removed at the end): `spaces` spaces of `chunks`
chunks each, with random vectors, then one space of each size in `large`, embedded by the product. The product indexes
INDEXED_SPACES of the small spaces and all large ones; the rows of the others are written by COPY, and each of those has
pages of the same 2,000, so that a million chunks take minutes. The floor is one statement through bare psycopg: the
fifty nearest vectors of the space by a covering index and the fifty best by PostgreSQL's full-text ranking, fused by
reciprocal rank. It finds less (docs/retrieval.md); it is what a round trip to the same rows costs. Product and floor
take turns on the same questions; the processor time is that of this process alone. Where signs choose what is compared,
the first ten are compared with those of an exact scan. `--embedding` instead tells how many lines a second each local
model embeds on one core.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Chunks of a document, and different documents in the spaces that are written by COPY.
PAGE, PAGES = 50, 2_000
# Small spaces that the product indexes, to measure how fast it does.
INDEXED_SPACES = 20
FLOOR_TABLE = """
CREATE TABLE IF NOT EXISTS floor (id bigint, space_id bigint, words tsvector, vector halfvec(256));
INSERT INTO floor SELECT chunk.id, chunk.space_id,
       to_tsvector('english', chunk.text) || array_to_tsvector(ARRAY['space:' || chunk.space_id]), made.vector
  FROM memory_memorychunk chunk JOIN memory_textvector made USING (space_id, text_key);
CREATE INDEX ON floor (space_id) INCLUDE (id, vector);
CREATE INDEX ON floor USING gin (words);
"""
FLOOR = """
WITH near AS (SELECT id, row_number() OVER (ORDER BY vector <#> %(vector)s::halfvec) AS place FROM floor
               WHERE space_id = %(space)s ORDER BY vector <#> %(vector)s::halfvec LIMIT 50),
     said AS (SELECT id, row_number() OVER (ORDER BY ts_rank_cd(words, asked) DESC) AS place
                FROM floor, to_tsquery('english', %(words)s) asked
               WHERE words @@ (quote_literal('space:' || %(space)s)::tsquery && asked) AND space_id = %(space)s
               ORDER BY ts_rank_cd(words, asked) DESC LIMIT 50)
SELECT chunk.document_id, chunk.start_line, chunk.end_line, chunk.text,
       coalesce(1.0 / (60 + near.place), 0) + coalesce(1.0 / (60 + said.place), 0) AS score
  FROM near FULL JOIN said USING (id) JOIN memory_memorychunk chunk ON chunk.id = coalesce(near.id, said.id)
 ORDER BY score DESC LIMIT 6
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spaces", type=int, default=1000)
    parser.add_argument("--chunks", type=int, default=1000)
    parser.add_argument("--large", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--keep", help="a data folder to fill and to use again")
    parser.add_argument("--embedding", action="store_true", help="how fast lines are embedded")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"ONECLAW_HOME": options.keep or folder, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
        os.environ |= {"OPENBLAS_NUM_THREADS": "1", "ONECLAW_EMBEDDINGS": "local"}
        os.environ.pop("DATABASE_URL", None)
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        (embedding if options.embedding else measure)(options)


def measure(options: argparse.Namespace) -> None:
    from django.conf import settings
    from django.core.management import call_command

    from oneclaw.models import Space

    call_command("migrate", verbosity=0)
    chosen = random.Random(11)
    words = vocabulary(chosen)
    sizes = [options.chunks] * options.spaces + options.large
    if not Space.objects.exists():
        fill(sizes, options.spaces, words, chosen)
    spaces = list(Space.objects.order_by("pk"))
    print(f"{'':40}{'median':>8} {'p95':>8}   of it processor time here   round trips")
    compare(f"{options.chunks:,} chunks × {options.spaces:,}", spaces[: options.spaces], words, options.queries)
    for size, space in zip(options.large, spaces[options.spaces :], strict=True):
        compare(f"{size:,} chunks", [space], words, options.queries)
        if size > settings.SEARCH.exact_max_chunks:
            print(
                f"{size:,} chunks: {same(space, words, options.queries):.2%} of the first ten are as by an exact scan"
            )


def fill(sizes: list[int], small: int, words: list[str], chosen: random.Random) -> None:
    """Make and index the spaces, give each chunk a vector (in the first `small` spaces a random one), copy all for the
    floor; print how long it took, and how large the database is."""
    from django.conf import settings
    from django.db import connection

    from memory.index.documents import index_documents
    from memory.index.embeddings import embedder
    from memory.index.models import record_dimensions
    from memory.index.vectors import embed_document
    from memory.models import MemoryDocument
    from oneclaw.models import Space, User

    began = time.perf_counter()
    owner = User.objects.create_user("bench@example.org")
    spaces = Space.objects.bulk_create(
        Space(kind=Space.Kind.PROJECT, name=str(n), owner=owner) for n in range(len(sizes))
    )
    indexed = min(small, INDEXED_SPACES)
    spent = here = 0.0
    chunks = 0
    settings.EMBEDDINGS = "none"
    for space, size in zip(spaces[:indexed] + spaces[small:], sizes[:indexed] + sizes[small:], strict=True):
        documents = [
            MemoryDocument(space=space, path=f"memory/{n}.md", content=page(words, chosen), version=1)
            for n in range(size // PAGE)
        ]
        MemoryDocument.objects.bulk_create(documents)
        started, busy = time.perf_counter(), time.process_time()
        for first in range(0, len(documents), 100):
            index_documents(document.pk for document in documents[first : first + 100])
        spent += time.perf_counter() - started
        here += time.process_time() - busy
        chunks += size
    print(
        f"ingest: {chunks / spent:,.0f} chunks a second without embedding,"
        f" {chunks / here:,.0f} a second of processor time here"
    )
    settings.EMBEDDINGS = "local"
    known = record_dimensions(embedder(), 256)
    if rest := spaces[indexed:small]:
        copy_spaces(rest, sizes[0] // PAGE, known, [page(words, chosen) for _ in range(PAGES)], chosen)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for document in MemoryDocument.objects.filter(space__in=spaces[small:]).values_list("pk", flat=True):
        embed_document(document)
    for space in spaces[:small]:
        copy_random_vectors(space.pk, known)
    with connection.cursor() as cursor:
        filled = time.perf_counter() - began
        cursor.execute("SELECT pg_database_size(current_database())")
        size = cursor.fetchone()[0]
        cursor.execute(FLOOR_TABLE)
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SELECT pg_database_size(current_database())")
        print(
            f"filled: {sum(sizes):,} chunks in {filled:,.0f} s and {size / 1e9:.1f} GB;"
            f" with the table of the floor {time.perf_counter() - began:,.0f} s and {cursor.fetchone()[0] / 1e9:.1f} GB"
        )


def copy_spaces(spaces: list[Any], count: int, model: int, pages: list[str], chosen: random.Random) -> None:
    """Write `count` of `pages`, with their indexes as the product makes them, into each of `spaces` by COPY."""
    from django.db import connection
    from django.utils import timezone

    from memory.index.documents import COLUMNS, IndexContent
    from memory.models import MemoryDocument
    from memory.models.documents import content_hash
    from memory.text.index_format import LAYOUT_VERSION

    made = [IndexContent.of(MemoryDocument(path="memory/1.md", content=content, version=1)) for content in pages]
    hashes, now = [content_hash(content) for content in pages], timezone.now()
    tables = {
        "memory_memorydocument": "id, space_id, path, content, content_hash, version, mirrored_version,"
        " indexed_version, created_at, updated_at",
        "memory_documentindex": "document_id, space_id, version, layout, units, data, embedded_by_id",
        "memory_memorychunk": f"space_id, document_id, {', '.join(COLUMNS)}",
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(id), 0) FROM memory_memorydocument")
        first = cursor.fetchone()[0] + 1
        documents = [
            (space.pk, f"memory/{n}.md", number)
            for space in spaces
            for n, number in enumerate(chosen.sample(range(len(pages)), count))
        ]
        for table, columns in tables.items():
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for pk, (space, path, n) in enumerate(documents, first):
                    one = made[n]
                    if table == "memory_memorydocument":
                        copy.write_row((pk, space, path, pages[n], hashes[n], 1, 1, 1, now, now))
                    elif table == "memory_documentindex":
                        copy.write_row((pk, space, 1, LAYOUT_VERSION, len(one.rows), one.packed, model))
                    else:
                        for row in one.rows:
                            copy.write_row((space, pk, *row))
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence('memory_memorydocument', 'id'), %s)", [first + len(documents)]
        )


def copy_random_vectors(space: int, model: int) -> None:
    """Write a random vector for each text of `space` by COPY in the binary format."""
    import numpy as np
    from django.db import connection

    # The fields of a row: their number, and each with its length before it; a halfvec begins with its width.
    row = np.dtype(
        [
            *(("fields", ">i2"), ("space_size", ">i4"), ("space", ">i8"), ("model_size", ">i4"), ("model", ">i8")),
            *(("key_size", ">i4"), ("key", ">i8"), ("vector_size", ">i4"), ("width", ">i4"), ("vector", ">f2", 256)),
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT text_key FROM memory_memorychunk WHERE space_id = %s", [space])
        keys = np.array(cursor.fetchall(), np.int64)[:, 0]
        rows = np.zeros(len(keys), row)
        rows["fields"], rows["space_size"], rows["model_size"], rows["key_size"] = 4, 8, 8, 8
        rows["vector_size"], rows["width"] = 4 + 2 * 256, 256 << 16
        rows["space"], rows["model"], rows["key"] = space, model, keys
        rows["vector"] = np.random.default_rng(space).random((len(keys), 256), np.float32) - 0.5
        columns = "(space_id, model_id, text_key, vector)"
        with cursor.copy(f"COPY memory_textvector {columns} FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff")


def compare(title: str, spaces: list[Any], words: list[str], count: int) -> None:
    """Product and floor in turn, on questions about what is there and on questions about what is not."""
    import psycopg
    from django.db import connection

    from memory.index.embeddings import embedder
    from memory.search.manager import HybridSearchManager
    from oneclaw.models import Spend
    from oneclaw.spend.calls import Payer

    chosen = random.Random(3)
    model, nobody = embedder(), Payer(Spend.Purpose.EMBEDDING, None)
    # A connection of its own, without Django.
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as bare:

        def floor(space: Any, query: str) -> list[Any]:
            vector = str(model.embed([query], nobody)[0].tolist())
            asked = {"space": space.pk, "vector": vector, "words": " | ".join(query.rstrip("?").split())}
            return bare.execute(FLOOR, asked).fetchall()

        def product(space: Any, query: str) -> list[Any]:
            return HybridSearchManager([space]).search(query)

        for kind, asked in (("", words), (" off-topic", vocabulary(random.Random(99)))):
            times: dict[str, list[tuple[float, float, int]]] = {"product": [], "floor": []}
            for n in range(count + 10):
                space, query = chosen.choice(spaces), question(asked, chosen)
                for name, search in (("product", product), ("floor", floor)):
                    spent = timed(search, space, query)
                    if n >= 10:
                        times[name].append(spent)
            for name, measured in times.items():
                columns = [sorted(column) for column in zip(*measured, strict=True)]
                (median, p95), (cpu, cpu95) = [(one[len(one) // 2], one[int(len(one) * 0.95)]) for one in columns[:2]]
                trips = f"{columns[2][-1]} at most" if name == "product" else ""
                print(f"{title + kind:32}{name:8}{median:8.1f} {p95:8.1f} {cpu:14.1f} {cpu95:8.1f}   {trips}")


def timed(search: Callable[[Any, str], Any], space: Any, query: str) -> tuple[float, float, int]:
    """Milliseconds, those of them in which this process computed, and statements through Django."""
    from django.db import connection

    trips = [0]

    def count(execute: Any, *arguments: Any) -> Any:
        trips[0] += 1
        return execute(*arguments)

    with connection.execute_wrapper(count):
        started, busy = time.perf_counter(), time.thread_time()
        search(space, query)
        return (time.perf_counter() - started) * 1000, (time.thread_time() - busy) * 1000, trips[0]


def same(space: Any, words: list[str], count: int) -> float:
    """The share of the first ten results that an exact scan has too."""
    from django.conf import settings

    from memory.search import cache
    from memory.search.manager import HybridSearchManager

    chosen = random.Random(5)
    queries = [question(words, chosen) for _ in range(count)]
    limit, found = settings.SEARCH.exact_max_chunks, []
    for exact in (limit, 10**9):
        settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=exact)
        cache.clear()
        results = [HybridSearchManager([space]).search(query, 10, 0) for query in queries]
        found.append([{(one.document_id, one.start_line) for one in result} for result in results])
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=limit)
    shares = [len(mine & exact) / max(len(exact), 1) for mine, exact in zip(*found, strict=True)]
    return sum(shares) / len(shares)


def embedding(options: argparse.Namespace) -> None:
    """Print lines a second by word vectors, the folder of ONECLAW_LOCAL_MODEL, and sentence-transformers, in turn."""
    import importlib.util

    from memory.index.embeddings import local_model

    chosen = random.Random(11)
    lines = page(vocabulary(chosen), chosen).splitlines()[2:]
    makers: dict[str, Callable[[list[str]], Any]] = {"word vectors (default)": local_model("").embed}
    if folder := os.environ.get("ONECLAW_LOCAL_MODEL"):
        name = Path(folder).name
        makers[f"{name} by onnxruntime"] = local_model(folder).embed
        if importlib.util.find_spec("sentence_transformers"):
            import torch
            from sentence_transformers import SentenceTransformer

            torch.set_num_threads(1)
            makers[f"{name} by sentence-transformers"] = SentenceTransformer(folder, device="cpu").encode
    best = dict.fromkeys(makers, 0.0)
    for _ in range(5):
        for name, make in makers.items():
            started = time.thread_time()
            make(lines)
            best[name] = max(best[name], len(lines) / (time.thread_time() - started))
    for name, speed in best.items():
        print(f"{name:44}{speed:10,.0f} lines a second of processor time")


def vocabulary(chosen: random.Random) -> list[str]:
    """Twenty thousand words of no language."""
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    return ["".join(chosen.choices(syllables, k=chosen.randint(2, 4))) for _ in range(20_000)]


def page(words: list[str], chosen: random.Random) -> str:
    """A document: a heading and lines of talk; words as frequent as in any language (Zipf)."""
    lines = ["# A page", ""]
    for n in range(PAGE - 1):
        picked = [words[min(int(len(words) ** chosen.random()) - 1, len(words) - 1)] for _ in range(20)]
        lines.append(f"{('Ada', 'Bob')[n % 2]}: {' '.join(picked)}.")
    return "\n".join(lines) + "\n"


def question(words: list[str], chosen: random.Random) -> str:
    return " ".join(words[min(int(len(words) ** chosen.random()), len(words) - 1)] for _ in range(7)) + "?"


if __name__ == "__main__":
    main()
