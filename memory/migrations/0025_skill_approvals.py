import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('memory', '0024_suggestions_and_reviews'),
        ('oneclaw', '0008_model_facts'),
    ]

    operations = [
        migrations.CreateModel(
            name='SkillApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('folder', models.CharField(max_length=255)),
                ('digest', models.CharField(max_length=64)),
                ('files', models.JSONField(default=dict)),
                ('is_used', models.BooleanField(default=True)),
                ('for_all', models.BooleanField(default=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('space', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'space', 'folder'), name='one_answer_about_a_skill', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('for_all', False), models.Q(('is_used', True), ('space__isnull', False)), _connector='OR'), name='for_all_members_of_a_space')],
            },
        ),
    ]
