"""The words of every finished message, kept by a trigger, so that no way of writing a message forgets them."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models


# Characters of a message that are found; a tsvector holds a megabyte.
WORDS = """
CREATE FUNCTION chat_words(body text, owner bigint) RETURNS tsvector LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT owner || ':' || word FROM unnest(tsvector_to_array(to_tsvector('simple', left(body, 100000)))) AS word))
$$;
CREATE FUNCTION chat_note_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chat_messagewords (message_id, words)
    SELECT NEW.id, chat_words(NEW.text, session.owner_id) FROM chat_chatsession session WHERE session.id = NEW.session_id
    ON CONFLICT (message_id) DO UPDATE SET words = excluded.words;
    RETURN NULL;
END $$;
CREATE TRIGGER message_is_written AFTER INSERT ON chat_message
    FOR EACH ROW WHEN (NEW.status <> 'running' AND NEW.text <> '') EXECUTE FUNCTION chat_note_words();
CREATE TRIGGER message_is_finished AFTER UPDATE OF status, text ON chat_message
    FOR EACH ROW WHEN (NEW.status <> 'running' AND NEW.text <> '') EXECUTE FUNCTION chat_note_words();
INSERT INTO chat_messagewords (message_id, words)
    SELECT message.id, chat_words(message.text, session.owner_id)
    FROM chat_message message JOIN chat_chatsession session ON session.id = message.session_id
    WHERE message.status <> 'running' AND message.text <> '';
"""
NO_WORDS = """
DROP TRIGGER message_is_finished ON chat_message;
DROP TRIGGER message_is_written ON chat_message;
DROP FUNCTION chat_note_words();
DROP FUNCTION chat_words(text, bigint);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0004_organised'),
    ]

    operations = [
        migrations.CreateModel(
            name='MessageWords',
            fields=[
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='words', serialize=False, to='chat.message')),
                ('words', django.contrib.postgres.search.SearchVectorField()),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['words'], name='message_words')],
            },
        ),
        migrations.RunSQL(WORDS, NO_WORDS),
    ]
