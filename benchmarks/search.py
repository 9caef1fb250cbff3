"""How fast search and indexing are on generated memories, next to the barest SQL that could do the same.

    python benchmarks/search.py [--spaces 1000] [--units 1000] [--large 10000 100000] [--queries 200]

Fills a database of its own (in a temporary data folder): `spaces` spaces of `units` units each, then one space of each
size in `large`. The floor is one statement through bare psycopg: the fifty nearest vectors of the space by a covering
index and the fifty best by PostgreSQL's full-text ranking, fused by reciprocal rank. It finds less (docs/retrieval.md);
it is what a round trip to the same rows costs. Product and floor take turns on the same questions.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Units of a document.
PAGE = 50

VECTORS = """
INSERT INTO memory_textvector (space_id, model_id, text_key, vector)
SELECT chunk.space_id, %s, chunk.text_key,
       (SELECT array_agg(random() - 0.5) FROM generate_series(1, 256) WHERE chunk.id > 0)::real[]::halfvec
  FROM memory_memorychunk chunk
 WHERE chunk.space_id = ANY(%s)
    ON CONFLICT DO NOTHING
"""
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
    parser.add_argument("--units", type=int, default=1000)
    parser.add_argument("--large", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--keep", help="a data folder to fill and to use again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"ONECLAW_HOME": options.keep or folder, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
        os.environ |= {"OPENBLAS_NUM_THREADS": "1", "ONECLAW_EMBEDDINGS": "local"}
        os.environ.pop("DATABASE_URL", None)
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        measure(options)


def measure(options: argparse.Namespace) -> None:
    from django.core.management import call_command

    from oneclaw.models import Space

    call_command("migrate", verbosity=0)
    chosen = random.Random(11)
    words = vocabulary(chosen)
    sizes = [options.units] * options.spaces + options.large
    if not Space.objects.exists():
        fill(sizes, words, chosen)
    spaces = list(Space.objects.order_by("pk"))
    print(f"{'':24}{'median':>8} {'p95':>8}  ms")
    compare(f"{options.units:,} units × {options.spaces:,}", spaces[: options.spaces], words, options.queries)
    for size, space in zip(options.large, spaces[options.spaces :], strict=True):
        compare(f"{size:,} units", [space], words, options.queries)


def fill(sizes: list[int], words: list[str], chosen: random.Random) -> None:
    """Make the spaces, index them through the product, give each unit a random vector, copy all for the floor."""
    from django.conf import settings
    from django.db import connection

    from memory.embeddings import embedder
    from memory.indexing import index_documents
    from memory.models import EmbeddingModel, MemoryDocument
    from memory.vectors import model_id
    from oneclaw.models import Space, User

    owner = User.objects.create_user("bench@example.org")
    spaces = Space.objects.bulk_create(
        Space(kind=Space.Kind.PROJECT, name=str(n), owner=owner) for n in range(len(sizes))
    )
    spent = units = 0
    settings.EMBEDDINGS = "none"
    for space, size in zip(spaces, sizes, strict=True):
        documents = [
            MemoryDocument(space=space, path=f"memory/{n}.md", content=page(words, chosen), version=1)
            for n in range(size // PAGE)
        ]
        MemoryDocument.objects.bulk_create(documents)
        started = time.perf_counter()
        for first in range(0, len(documents), 100):
            index_documents(document.pk for document in documents[first : first + 100])
        spent += time.perf_counter() - started
        units += size
    print(f"ingest: {units / spent:,.0f} units a second without embedding")
    settings.EMBEDDINGS = "local"
    model = embedder()
    known = model_id(model)
    EmbeddingModel.objects.get_or_create(id=known, defaults={"name": model.name, "width": model.width})
    with connection.cursor() as cursor:
        for start in range(0, len(spaces), 100):
            cursor.execute(VECTORS, [known, [space.pk for space in spaces[start : start + 100]]])
        cursor.execute(FLOOR_TABLE)
        cursor.execute("VACUUM ANALYZE")


def compare(title: str, spaces: list[Any], words: list[str], count: int) -> None:
    """Product and floor in turn, on questions about what is there and on questions about what is not."""
    import psycopg
    from django.db import connection

    from memory.embeddings import embedder
    from memory.search import HybridSearchManager

    chosen = random.Random(3)
    model = embedder()
    # A connection of its own, without Django.
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as bare:

        def floor(space: Any, query: str) -> list[Any]:
            vector = str(model.embed([query])[0].tolist())
            asked = {"space": space.pk, "vector": vector, "words": " | ".join(query.rstrip("?").split())}
            return bare.execute(FLOOR, asked).fetchall()

        def product(space: Any, query: str) -> list[Any]:
            return HybridSearchManager([space]).search(query)

        for kind, asked in (("", words), (" off-topic", vocabulary(random.Random(99)))):
            times: dict[str, list[float]] = {"product": [], "floor": []}
            for n in range(count + 10):
                space, query = chosen.choice(spaces), question(asked, chosen)
                for name, search in (("product", product), ("floor", floor)):
                    spent = timed(search, space, query)
                    if n >= 10:
                        times[name].append(spent)
            for name, spent_each in times.items():
                ordered = sorted(spent_each)
                median, p95 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
                print(f"{title + kind:32}{name:8}{median:8.1f} {p95:8.1f}")


def timed(search: Callable[[Any, str], Any], space: Any, query: str) -> float:
    started = time.perf_counter()
    search(space, query)
    return (time.perf_counter() - started) * 1000


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
