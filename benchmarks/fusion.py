"""The usual hybrid search, to compare with: PostgreSQL's full text and pgvector, fused by reciprocal rank (k = 60).

    python benchmarks/fusion.py --user EMAIL --queries FILE [--any-word]

Searches the chunks and vectors that the product has made in ONECLAW_HOME, and prints what `manage.py memory search
--queries` prints. benchmarks/retrieval.py runs it. Words are matched by websearch_to_tsquery, which asks for all of
them; with --any-word, by the same query with "or" between them.
"""

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUSED = """
WITH chunks AS MATERIALIZED (
    SELECT chunk.id, document.path, chunk.start_line, chunk.end_line, chunk.text,
           to_tsvector('english', chunk.text) AS words,
           (SELECT vector FROM memory_textvector made WHERE made.space_id = chunk.space_id
               AND made.text_key = chunk.text_key AND made.model_id = %(model)s LIMIT 1) AS vector
      FROM memory_memorychunk chunk JOIN memory_memorydocument document ON document.id = chunk.document_id
     WHERE chunk.space_id = %(space)s),
asked AS (SELECT CASE WHEN %(any)s THEN replace(query::text, ' & ', ' | ')::tsquery ELSE query END AS query
            FROM websearch_to_tsquery('english', %(words)s) query),
said AS (SELECT id, row_number() OVER (ORDER BY ts_rank_cd(words, query) DESC, id) AS place
           FROM chunks, asked WHERE words @@ query ORDER BY place LIMIT 100),
near AS (SELECT id, row_number() OVER (ORDER BY vector <=> %(vector)s::halfvec, id) AS place
           FROM chunks WHERE vector IS NOT NULL ORDER BY place LIMIT 100)
SELECT path, start_line, end_line, text, coalesce(1.0 / (60 + said.place), 0) + coalesce(1.0 / (60 + near.place), 0)
  FROM said FULL JOIN near USING (id) JOIN chunks USING (id) ORDER BY 5 DESC, id LIMIT 60
"""
COLUMNS = ("path", "start_line", "end_line", "snippet", "score")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--user", required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--any-word", action="store_true")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "oneclaw.settings"
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from django.db import connection

    from memory.index import models, vectors
    from memory.index.embeddings import embedder
    from memory.search.query import text_to_embed
    from oneclaw.models import Space, Spend
    from oneclaw.spend.calls import Payer

    space = Space.objects.get(owner__email=options.user, kind=Space.Kind.OWN)
    model = embedder()
    assert model, "there is no embedding model"
    with connection.cursor() as cursor:
        for row in map(json.loads, options.queries.read_text().splitlines()):
            vector = vectors.question_vector(model, text_to_embed(row["query"]), Payer(Spend.Purpose.EMBEDDING, None))
            asked = {"space": space.pk, "any": options.any_word, "words": row["query"]}
            asked |= {"vector": json.dumps(vector.tolist()), "model": models.model_id(model, len(vector))}
            cursor.execute(FUSED, asked)
            found = [dict(zip(COLUMNS, one, strict=True)) for one in cursor.fetchall()]
            print(json.dumps({"id": row["id"], "results": [one | {"score": float(one["score"])} for one in found]}))


if __name__ == "__main__":
    main()
