"""The words of messages are cut and folded as every search cuts and folds its question (oneclaw/words.py)."""

from django.db import migrations

# Characters of a message that are found by its index; a tsvector holds a megabyte, so words beyond that are left out.
WORDS = """
CREATE OR REPLACE FUNCTION chat_words(body text, owner bigint) RETURNS tsvector LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT owned FROM (
            SELECT owned, sum(octet_length(owned) + 8) OVER (ORDER BY at) AS bytes
            FROM (SELECT owner || ':' || word AS owned, at
                FROM unnest(oneclaw_words(left(body, 100000))) WITH ORDINALITY AS cut (word, at)) AS named
        ) AS counted WHERE bytes < 1000000))
$$;
UPDATE chat_messagewords SET words = chat_words(message.text, session.owner_id)
    FROM chat_message message JOIN chat_chatsession session ON session.id = message.session_id
    WHERE message.id = message_id;
"""
BEFORE = """
CREATE OR REPLACE FUNCTION chat_words(body text, owner bigint) RETURNS tsvector LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT owner || ':' || word FROM unnest(tsvector_to_array(to_tsvector('simple', left(body, 100000)))) AS word))
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("chat", "0039_owners_peers"), ("oneclaw", "0026_words")]

    operations = [migrations.RunSQL(WORDS, BEFORE)]
