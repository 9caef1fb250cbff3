from django.db import migrations, models

OPTIONAL = ['sessions_history', 'sessions_list', 'sessions_send', 'sessions_spawn']


def keep_tools(apps, schema_editor):
    """Turn the tools for other conversations on where they are used: for the agents that somebody has set up, unless
    they are off there, and for the people whose models have sent messages or begun sub-sessions."""
    Agent, User = apps.get_model('chat', 'Agent'), apps.get_model('oneclaw', 'User')
    for agent in Agent.objects.filter(is_default=False).iterator():
        agent.tools_on = [name for name in OPTIONAL if name not in agent.tools_off]
        agent.save(update_fields=['tools_on'])
    users = {
        owner
        for name in ('SubTask', 'RelayedMessage')
        for owner in apps.get_model('chat', name).objects.order_by().values_list('owner', flat=True).distinct()
    }
    User.objects.filter(pk__in=users).update(tools_on=OPTIONAL)


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0037_pasted'),
        ('oneclaw', '0025_tools_on'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='tools_on',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.RunPython(keep_tools, migrations.RunPython.noop, elidable=True),
    ]
