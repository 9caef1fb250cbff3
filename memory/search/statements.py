"""The SQL of a search: one statement for the data to score, and one for the lines of the results."""

from dataclasses import dataclass

# The documents to search, and the transcripts (`said`): each with a stamp that changes whenever its row does, and with
# the number of its chunks that are searched.
HELD = """
WITH held AS MATERIALIZED (
    SELECT false AS said, index.document_id AS id, index.units,
           hashtextextended(index.xmin::text || index.ctid::text, 0) AS stamp
      FROM memory_documentindex index JOIN memory_memorydocument document ON document.id = index.document_id
     WHERE index.space_id = ANY(%(spaces)s::bigint[]) AND document.space_id = ANY(%(spaces)s::bigint[])
       AND document.deleted_at IS NULL AND index.layout = %(layout)s
       AND CASE document.path WHEN %(recent_path)s THEN %(recent)s ELSE %(notes)s END
"""
# A deleted conversation is not found from that moment on, even if its index is removed later; nor is one by the members
# of a space with which it is not shared any more. Of the conversation that
# asks, the chunks of its first messages are searched; another number of them makes another stamp.
HELD_TRANSCRIPTS = """
     UNION ALL
    SELECT true, index.id, coalesce(own.units, index.units),
           hashtextextended(index.xmin::text || index.ctid::text || coalesce(':' || own.units::text, ''), 0)
      FROM memory_transcriptindex index JOIN chat_chatsession session ON session.id = index.session_id
      LEFT JOIN (
           SELECT mine.id, count(*)::int AS units
             FROM memory_transcriptindex mine JOIN memory_transcriptchunk chunk ON chunk.index_id = mine.id
            WHERE mine.session_id = %(but_session)s::uuid AND chunk.seq <= %(but_session_after)s
              AND %(but_session_after)s > 0
            GROUP BY mine.id) AS own ON own.id = index.id
     WHERE index.space_id = ANY(%(spaces)s::bigint[]) AND session.owner_id = index.owner_id
       AND CASE WHEN session.shared_at IS NULL
                THEN index.owner_id = %(owner)s AND index.space_id = ANY(%(private)s::bigint[])
                ELSE %(shared)s AND session.space_id = index.space_id END
       AND session.deleted_at IS NULL AND session.mode = 'agent' AND index.layout = %(layout)s
       AND (own.id IS NOT NULL OR %(other_transcripts)s AND session.id IS DISTINCT FROM %(but_session)s::uuid)
"""
# What this process has not cached in its current state, and whether there are too many chunks for an exact scan: then
# the signs of the vectors are read.
CHANGED = """
), many AS MATERIALIZED (SELECT coalesce(sum(units), 0) > %(exact)s AS are FROM held),
changed AS MATERIALIZED (
    SELECT held.said, held.id, held.stamp, held.units
      FROM held LEFT JOIN unnest(%(said)s::boolean[], %(ids)s::bigint[], %(stamps)s::bigint[]) AS kept (said, id, stamp)
        ON kept.id = held.id AND kept.said = held.said AND kept.stamp = held.stamp
     WHERE kept.id IS NULL)
"""
CHUNKS = """
SELECT false, changed.id, document.path, changed.stamp, changed.units, index.data,
       CASE WHEN (SELECT are FROM many) AND index.embedded_by_id = %(model)s::bigint THEN index.bits END
  FROM changed JOIN memory_documentindex index ON index.document_id = changed.id AND NOT changed.said
  JOIN memory_memorydocument document ON document.id = changed.id
"""
TRANSCRIPTS = """
UNION ALL
SELECT true, changed.id, '/c/' || index.session_id, changed.stamp, changed.units, index.data,
       CASE WHEN (SELECT are FROM many) AND index.embedded_by_id = %(model)s::bigint THEN index.bits END
  FROM changed JOIN memory_transcriptindex index ON index.id = changed.id AND changed.said
"""
# In one row the ids of everything searched, if this process has cached some of it.
IDS = """
UNION ALL
SELECT NULL, NULL, 'ids', NULL, NULL, string_agg(boolsend(said) || int8send(id), ''), NULL FROM held
"""
# In one row the key and cosine of every vector, if an exact scan is possible.
COSINES = """
UNION ALL
SELECT NULL, NULL, 'cosines', NULL, NULL,
       string_agg(int8send(text_key) || float4send(-(vector <#> %(vector)s::halfvec)::float4), ''), NULL
  FROM memory_textvector
 WHERE NOT (SELECT are FROM many) AND space_id = ANY(%(spaces)s::bigint[]) AND model_id = %(model)s::bigint
   AND vector_dims(vector) = %(width)s
"""
# What the person who asks has said about lines (memory/search/opinions.py).
OPINIONS = """
UNION ALL
SELECT NULL, NULL, 'opinion', text_key, kind::int, question_terms, NULL FROM memory_linefeedback
 WHERE user_id = %(asked_by)s AND space_id = ANY(%(spaces)s::bigint[])
"""
# The condition of the covering index; the vectors of wider models are read from the table.
NARROW, NARROW_MAX_DIMENSIONS = " AND vector_dims(vector) <= 1280", 1280
LINES = """
SELECT false, chunk.document_id, chunk.ordinal, chunk.start_line, chunk.end_line, chunk.heading, chunk.text,
       0::bigint, '', NULL::timestamptz, 0::bigint, '', 0
  FROM memory_memorychunk chunk
  JOIN unnest(%(ids)s::bigint[], %(ordinals)s::int[], %(keys)s::bigint[]) AS won (document_id, ordinal, text_key)
 USING (document_id, ordinal, text_key)
 WHERE chunk.space_id = ANY(%(spaces)s::bigint[])
"""
SAID_LINES = """
UNION ALL
SELECT true, chunk.index_id, chunk.ordinal, chunk.start_line, chunk.end_line, coalesce(file.name, session.title),
       chunk.text, chunk.seq, chunk.role, chunk.at, message.id,
       CASE WHEN chunk.role = 'file' THEN chunk.file_id::text
            WHEN session.shared_at IS NOT NULL AND chunk.role = 'user'
            THEN coalesce(nullif(btrim(person.first_name || ' ' || person.last_name), ''), person.email) ELSE '' END, 0
  FROM memory_transcriptchunk chunk
  JOIN unnest(%(said_ids)s::bigint[], %(said_ordinals)s::int[], %(said_keys)s::bigint[])
    AS won (index_id, ordinal, text_key)
 USING (index_id, ordinal, text_key)
  JOIN memory_transcriptindex index ON index.id = chunk.index_id
  JOIN chat_chatsession session ON session.id = index.session_id
  LEFT JOIN chat_message message ON message.session_id = session.id AND message.seq = chunk.seq
  LEFT JOIN chat_attachment file ON file.id = chunk.file_id
  LEFT JOIN oneclaw_user person ON person.id = coalesce(message.author_id, session.owner_id)
 WHERE index.space_id = ANY(%(spaces)s::bigint[]) AND session.deleted_at IS NULL
   AND CASE WHEN session.shared_at IS NULL
            THEN session.owner_id = %(owner)s AND index.space_id = ANY(%(private)s::bigint[])
            ELSE %(shared)s AND session.space_id = index.space_id END
   AND (session.id IS DISTINCT FROM %(but_session)s::uuid OR chunk.seq <= %(but_session_after)s)
"""
# The exact cosines of some texts, in the same statement as the lines of some chunks.
EXACTLY = """
UNION ALL
SELECT NULL, near.text_key, NULL, NULL, NULL, NULL, near.cosine::text, NULL, NULL, NULL, NULL, NULL, NULL
  FROM unnest(%(texts)s::bigint[]) AS asked (key) CROSS JOIN LATERAL (
       SELECT text_key, -(vector <#> %(vector)s::halfvec) AS cosine FROM memory_textvector
        WHERE space_id = ANY(%(spaces)s::bigint[]) AND model_id = %(model)s::bigint AND text_key = asked.key
          AND vector_dims(vector) = %(width)s LIMIT 1) AS near
"""
# In binary: as text, thousands of vectors take seconds.
SAMPLE_VECTORS = """
SELECT DISTINCT ON (text_key) text_key, halfvec_send(vector) FROM memory_textvector
 WHERE text_key = ANY(%s::bigint[]) AND space_id = ANY(%s::bigint[]) AND model_id = %s::bigint
   AND vector_dims(vector) = %s
"""

# The files of libraries, whose chunks and vectors are in tables of their own.
HELD_FILES = """
WITH held AS MATERIALIZED (
    SELECT false AS said, index.file_id AS id, index.units,
           hashtextextended(index.xmin::text || index.ctid::text, 0) AS stamp
      FROM memory_fileindex index
     WHERE index.space_id = ANY(%(spaces)s::bigint[]) AND index.layout = %(layout)s
"""
FILE_CHUNKS = """
SELECT false, changed.id, file.name, changed.stamp, changed.units, index.data,
       CASE WHEN (SELECT are FROM many) AND index.embedded_by_id = %(model)s::bigint THEN index.bits END
  FROM changed JOIN memory_fileindex index ON index.file_id = changed.id
  JOIN memory_libraryfile file ON file.id = changed.id
"""
FILE_LINES = """
SELECT false, chunk.file_id, chunk.ordinal, chunk.start_line, chunk.end_line, chunk.heading, chunk.text,
       0::bigint, '', NULL::timestamptz, 0::bigint, '', chunk.page
  FROM memory_filechunk chunk
  JOIN unnest(%(ids)s::bigint[], %(ordinals)s::int[], %(keys)s::bigint[]) AS won (file_id, ordinal, text_key)
 USING (file_id, ordinal, text_key)
 WHERE chunk.space_id = ANY(%(spaces)s::bigint[])
"""


@dataclass(frozen=True)
class Statements:
    """The statements that read one kind of tables: those of memory, or those of the files of libraries."""

    name: str
    held: str
    chunks: str
    lines: str
    vector_table: str

    @property
    def cosines(self) -> str:
        """Return the part that reads the cosine of every vector."""
        return COSINES.replace(MEMORY_VECTORS, self.vector_table)

    @property
    def exactly(self) -> str:
        """Return the part that reads the exact cosines of some texts."""
        return EXACTLY.replace(MEMORY_VECTORS, self.vector_table)

    @property
    def sample_vectors(self) -> str:
        """Return the statement that reads the vectors of the sample."""
        return SAMPLE_VECTORS.replace(MEMORY_VECTORS, self.vector_table)


MEMORY_VECTORS = "memory_textvector"
OF_MEMORY = Statements("memory", HELD, CHUNKS, LINES, MEMORY_VECTORS)
OF_LIBRARIES = Statements("library", HELD_FILES, FILE_CHUNKS, FILE_LINES, "memory_filevector")
