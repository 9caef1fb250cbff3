import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0030_shared_sessions'),
        ('oneclaw', '0009_groups'),
    ]

    operations = [
        migrations.AlterField(
            model_name='chatsession',
            name='space',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='oneclaw.space'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(condition=models.Q(('space__isnull', False)), fields=['space', '-active_at'], name='sessions_of_spaces'),
        ),
    ]
