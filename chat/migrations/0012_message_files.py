"""Which messages name which files, kept by a trigger, so that no way of writing a message forgets it."""

import django.db.models.deletion
from django.db import migrations, models


# A file that is not there any more is not noted: nothing asks for it. Only what a person says names files, so an answer
# that grows costs nothing.
FILES = """
CREATE FUNCTION chat_note_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM chat_messagefile WHERE message_id = NEW.id;
    INSERT INTO chat_messagefile (message_id, attachment_id)
    SELECT DISTINCT NEW.id, file.id
    FROM jsonb_path_query(NEW.content, '$[*] ? (@.type == "attachment").id') AS named
    JOIN chat_attachment file ON file.id = (named #>> '{}')::uuid;
    RETURN NULL;
END $$;
CREATE TRIGGER message_names_files AFTER INSERT ON chat_message
    FOR EACH ROW WHEN (NEW.role = 'user' AND NEW.content @> '[{"type": "attachment"}]') EXECUTE FUNCTION chat_note_files();
CREATE TRIGGER message_names_other_files AFTER UPDATE OF content ON chat_message
    FOR EACH ROW WHEN (NEW.role = 'user' AND NEW.content IS DISTINCT FROM OLD.content) EXECUTE FUNCTION chat_note_files();
INSERT INTO chat_messagefile (message_id, attachment_id)
    SELECT DISTINCT message.id, file.id
    FROM chat_message message
    CROSS JOIN LATERAL jsonb_path_query(message.content, '$[*] ? (@.type == "attachment").id') AS named
    JOIN chat_attachment file ON file.id = (named #>> '{}')::uuid
    WHERE message.role = 'user' AND message.content @> '[{"type": "attachment"}]';
"""
NO_FILES = """
DROP TRIGGER message_names_other_files ON chat_message;
DROP TRIGGER message_names_files ON chat_message;
DROP FUNCTION chat_note_files();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0011_forks'),
    ]

    operations = [
        migrations.CreateModel(
            name='MessageFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attachment', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='names', to='chat.attachment')),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='file_names', to='chat.message')),
            ],
        ),
        migrations.AddConstraint(
            model_name='messagefile',
            constraint=models.UniqueConstraint(fields=('message', 'attachment'), name='one_name_per_file'),
        ),
        migrations.RunSQL(FILES, NO_FILES),
    ]
