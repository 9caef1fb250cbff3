import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0026_superseded_lines_and_newest_entries"),
        ('oneclaw', '0008_model_facts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='goldenquestion',
            name='is_from_feedback',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='goldenquestion',
            name='is_unwanted',
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name='LineFeedback',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text_key', models.BigIntegerField()),
                ('kind', models.PositiveSmallIntegerField(choices=[(1, 'Wrong'), (2, 'Outdated'), (3, 'Not relevant'), (4, 'Helpful')])),
                ('question_terms', models.BinaryField(default=bytes)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('golden', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='feedback', to='memory.goldenquestion')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'space', 'text_key'), name='one_opinion_on_a_line')],
            },
        ),
    ]
