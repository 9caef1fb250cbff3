"""The tables of release 0.1.0, in place of its migrations."""

import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import oneclaw.models.people
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ('oneclaw', '0001_initial'),
        ('oneclaw', '0002_heartbeat'),
        ('oneclaw', '0003_invariant_run'),
        ('oneclaw', '0004_preferences'),
        ('oneclaw', '0005_agent_spaces'),
        ('oneclaw', '0006_api_keys'),
        ('oneclaw', '0007_fewer_indexes'),
        ('oneclaw', '0008_model_facts'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='InvariantRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seconds', models.FloatField()),
                ('checked', models.PositiveIntegerField()),
                ('count', models.PositiveIntegerField()),
                ('violations', models.JSONField(default=list)),
            ],
            options={
                'ordering': ['-at'],
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('email', models.EmailField(max_length=254, unique=True, verbose_name='email address')),
                ('timezone', models.CharField(default='UTC', max_length=64, validators=[oneclaw.models.people.validate_timezone])),
                ('timezone_chosen', models.BooleanField(default=False)),
                ('appearance', models.CharField(blank=True, choices=[('light', 'Light'), ('dark', 'Dark')], max_length=5)),
                ('language', models.CharField(blank=True, max_length=10)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            managers=[
                ('objects', oneclaw.models.people.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('ending', models.CharField(max_length=8)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'API key',
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='ModelFacts',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('server', models.CharField(max_length=32)),
                ('model', models.CharField(max_length=200)),
                ('window', models.PositiveIntegerField(blank=True, null=True)),
                ('max_output', models.PositiveIntegerField(blank=True, null=True)),
                ('chars_per_token', models.FloatField(blank=True, null=True)),
                ('preserved_thinking', models.BooleanField(blank=True, null=True)),
                ('thinking', models.JSONField(blank=True, null=True)),
                ('efforts', models.JSONField(blank=True, null=True)),
                ('compacts', models.BooleanField(blank=True, null=True)),
                ('counts', models.BooleanField(blank=True, null=True)),
                ('learnt', models.JSONField(blank=True, default=dict)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name_plural': 'model facts',
                'constraints': [models.UniqueConstraint(fields=('server', 'model'), name='facts_of_a_model_once')],
            },
        ),
        migrations.CreateModel(
            name='Space',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('own', "a person's own"), ('project', "a project's"), ('team', "a team's"), ('agent', "an agent's for one person")], default='own', max_length=10)),
                ('name', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='owned_spaces', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SpaceMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'owner: reads, writes, manages members'), ('editor', 'editor: reads and writes'), ('reader', 'reader: reads')], default='reader', max_length=10)),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='oneclaw.space')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='user_email_once'),
        ),
        migrations.AddConstraint(
            model_name='space',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'own')), fields=('owner',), name='one_own_space_per_person'),
        ),
        migrations.AddConstraint(
            model_name='space',
            constraint=models.UniqueConstraint(fields=('owner', 'id'), name='space_of_owner'),
        ),
        migrations.AddConstraint(
            model_name='spacemember',
            constraint=models.UniqueConstraint(fields=('space', 'user'), name='member_once_per_space'),
        ),
    ]
