import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# Notes and transcripts of a conversation get into a private space of its owner or, while it is shared, into the space
# with which it is shared. A row that is written says where; later changes of the conversation are found by the sweep.
IN_ITS_SPACE = """
ALTER TABLE memory_flush DROP CONSTRAINT flush_into_owners_space;
ALTER TABLE memory_transcriptindex DROP CONSTRAINT transcript_in_owners_space;
CREATE FUNCTION memory_is_in_its_space() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.space_id IS NULL OR EXISTS (
        SELECT FROM oneclaw_space space JOIN chat_chatsession session ON session.id = NEW.session_id
        WHERE space.id = NEW.space_id AND CASE
            WHEN space.kind IN ('own', 'agent') THEN space.owner_id = NEW.owner_id
            ELSE session.shared_at IS NOT NULL AND session.space_id = space.id
        END
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'What was said in conversation % does not belong into space %.', NEW.session_id, NEW.space_id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER flush_is_in_its_space BEFORE INSERT OR UPDATE OF owner_id, space_id, session_id
    ON memory_flush FOR EACH ROW EXECUTE FUNCTION memory_is_in_its_space();
CREATE TRIGGER transcript_is_in_its_space BEFORE INSERT OR UPDATE OF owner_id, space_id, session_id
    ON memory_transcriptindex FOR EACH ROW EXECUTE FUNCTION memory_is_in_its_space();
"""
IN_OWNERS_SPACE = """
DROP TRIGGER transcript_is_in_its_space ON memory_transcriptindex;
DROP TRIGGER flush_is_in_its_space ON memory_flush;
DROP FUNCTION memory_is_in_its_space();
ALTER TABLE memory_flush ADD CONSTRAINT flush_into_owners_space FOREIGN KEY (owner_id, space_id)
    REFERENCES oneclaw_space (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_transcriptindex ADD CONSTRAINT transcript_in_owners_space FOREIGN KEY (owner_id, space_id)
    REFERENCES oneclaw_space (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0030_shared_sessions'),
        ('memory', '0030_library'),
        ('oneclaw', '0009_groups'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Proposal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('saved', 'from a saved line'), ('line', 'from a line of memory'), ('written', 'written on the page'), ('assistant', 'by the assistant in a shared conversation'), ('api', 'by a program')], max_length=10)),
                ('text', models.TextField()),
                ('text_hash', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('accepted', 'accepted'), ('declined', 'declined'), ('withdrawn', 'withdrawn')], default='waiting', max_length=10)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_text', models.TextField(blank=True)),
                ('heard_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddField(
            model_name='memoryrevision',
            name='approved_by',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='flush',
            name='space',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='oneclaw.space'),
        ),
        migrations.AlterField(
            model_name='memoryrevision',
            name='source',
            field=models.CharField(choices=[('tool', 'assistant'), ('flush', 'conversation notes'), ('page', 'memory page'), ('admin', 'admin'), ('file', 'file in the folder'), ('api', 'API'), ('undo', 'undo'), ('import', 'import'), ('forget', 'forgetting'), ('proposal', 'proposal')], max_length=10),
        ),
        migrations.AddIndex(
            model_name='memoryrevision',
            index=models.Index(condition=models.Q(('approved_by__isnull', False)), fields=['approved_by'], name='revisions_approved_by'),
        ),
        migrations.AddField(
            model_name='proposal',
            name='author',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='proposal',
            name='decided_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='proposal',
            name='message',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.message'),
        ),
        migrations.AddField(
            model_name='proposal',
            name='outcome',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.memoryrevision'),
        ),
        migrations.AddField(
            model_name='proposal',
            name='source',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.memoryrevision'),
        ),
        migrations.AddField(
            model_name='proposal',
            name='space',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='proposals', to='oneclaw.space'),
        ),
        migrations.AddIndex(
            model_name='proposal',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['space'], name='proposals_waiting'),
        ),
        migrations.AddConstraint(
            model_name='proposal',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('space', 'text_hash'), name='proposed_once'),
        ),
        migrations.AddConstraint(
            model_name='proposal',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('accepted_text', ''), ('decided_at', None), ('outcome', None), ('state', 'waiting')), models.Q(('decided_at__isnull', False), ('state', 'accepted'), models.Q(('accepted_text', ''), _negated=True)), models.Q(('accepted_text', ''), ('decided_at__isnull', False), ('outcome', None), ('state__in', ['declined', 'withdrawn'])), _connector='OR'), name='proposal_is_what_its_state_says'),
        ),
        migrations.RunSQL(IN_ITS_SPACE, IN_OWNERS_SPACE),
    ]
