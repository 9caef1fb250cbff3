import django.db.models.deletion
from django.db import migrations, models


def make_heads(apps, schema_editor):
    """Give each conversation with a prompt a head; its tools are frozen with its next request.

    Thinking from before has no digest of what it was made from, so it is not sent any more.
    """
    ChatSession, Head = apps.get_model("chat", "ChatSession"), apps.get_model("chat", "Head")
    sessions = ChatSession.objects.exclude(system_prompt=None).only(
        "system_prompt", "system_context", "system_prompt_for"
    )
    batch = []
    for session in sessions.iterator(chunk_size=500):
        batch.append(
            Head(
                session=session,
                system=session.system_prompt,
                context=session.system_context,
                condition=session.system_prompt_for,
            )
        )
        if len(batch) == 500:
            Head.objects.bulk_create(batch)
            batch = []
    Head.objects.bulk_create(batch)
    newest = Head.objects.filter(session=models.OuterRef("pk")).values("pk")[:1]
    ChatSession.objects.update(head=models.Subquery(newest), thinking_after_seq=models.F("last_seq"))


def restore_prompts(apps, schema_editor):
    ChatSession = apps.get_model("chat", "ChatSession")
    for session in ChatSession.objects.exclude(head=None).select_related("head").iterator(chunk_size=500):
        session.system_prompt = session.head.system
        session.system_context = session.head.context
        session.system_prompt_for = session.head.condition[:200]
        session.save(update_fields=["system_prompt", "system_context", "system_prompt_for"])


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0016_system_context'),
        # It fills `system_context`.
        ('memory', '0018_context_items'),
    ]

    operations = [
        migrations.CreateModel(
            name='Head',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(default=1)),
                ('reason', models.CharField(choices=[('first', 'the conversation began'), ('switched', 'a switch or a tool was turned on or off'), ('forgotten', 'a line of it was forgotten')], default='first', max_length=10)),
                ('system', models.TextField()),
                ('tools', models.JSONField(blank=True, null=True)),
                ('context', models.JSONField(blank=True, default=dict)),
                ('condition', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='heads', to='chat.chatsession')),
            ],
        ),
        migrations.AddConstraint(
            model_name='head',
            constraint=models.UniqueConstraint(fields=('session', 'number'), name='one_head_per_number'),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='head',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.head'),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='thinking_after_seq',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name='message',
            name='role',
            field=models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant'), ('tool', 'Tool'), ('notice', 'Notice')], max_length=10),
        ),
        migrations.RunPython(make_heads, restore_prompts, elidable=False),
        migrations.RemoveField(model_name='chatsession', name='system_prompt'),
        migrations.RemoveField(model_name='chatsession', name='system_context'),
        migrations.RemoveField(model_name='chatsession', name='system_prompt_for'),
    ]
