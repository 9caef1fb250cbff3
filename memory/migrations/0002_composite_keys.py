"""What the ORM cannot say: nothing points into another person's things, and a revision is final."""

from django.db import migrations

# Deferred like Django's own foreign keys, so that a cascade may delete in any order.
COMPOSITE_KEYS = """
ALTER TABLE memory_memoryrevision
    ADD CONSTRAINT revision_in_space_of_document FOREIGN KEY (space_id, document_id)
        REFERENCES memory_memorydocument (space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_flush
    ADD CONSTRAINT flush_of_owners_session FOREIGN KEY (owner_id, session_id)
        REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT flush_into_owners_space FOREIGN KEY (owner_id, space_id)
        REFERENCES oneclaw_space (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""
NO_COMPOSITE_KEYS = """
ALTER TABLE memory_flush DROP CONSTRAINT flush_into_owners_space, DROP CONSTRAINT flush_of_owners_session;
ALTER TABLE memory_memoryrevision DROP CONSTRAINT revision_in_space_of_document;
"""

# author_id and message_id are missing on purpose: they become NULL when the person or the message goes.
FINAL_REVISIONS = """
CREATE FUNCTION memory_revision_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A revision is never edited.' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER revision_is_final BEFORE UPDATE OF
    id, space_id, document_id, number, kind, source, reason, hunks, content_hash, operation_key, created_at
    ON memory_memoryrevision FOR EACH ROW EXECUTE FUNCTION memory_revision_is_final();
"""
CHANGEABLE_REVISIONS = """
DROP TRIGGER revision_is_final ON memory_memoryrevision;
DROP FUNCTION memory_revision_is_final();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0001_initial"),
        # session_of_owner, space_of_owner
        ("chat", "0002_initial"),
        ("oneclaw", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(COMPOSITE_KEYS, NO_COMPOSITE_KEYS),
        migrations.RunSQL(FINAL_REVISIONS, CHANGEABLE_REVISIONS),
    ]
