from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [('oneclaw', '0019_seen_and_dismissed')]

    operations = [
        migrations.CreateModel(
            name="ModelRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("server", models.CharField(blank=True, max_length=100)),
                ("model", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(db_default=Now(), editable=False)),
                ("groups", models.ManyToManyField(blank=True, related_name="+", to="oneclaw.group")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("server", "model"), name="one_rule_of_a_model"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("server", ""), models.Q(("model", ""), _negated=True)),
                            models.Q(models.Q(("server", ""), _negated=True), ("model", "")),
                            _connector="OR",
                        ),
                        name="rule_of_a_model_or_server",
                    ),
                ],
            },
        ),
    ]
