from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('oneclaw', '0024_enters_and_invitations'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='tools_on',
            field=models.JSONField(blank=True, editable=False, null=True),
        ),
    ]
