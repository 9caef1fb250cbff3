"""Every space has an owner, and a private one nobody else."""

import pytest

RULE = "a space has an owner, and a private one nobody else"


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("DELETE FROM oneclaw_spacemember WHERE user_id = {ada}", "has no owner among its members"),
        ("UPDATE oneclaw_spacemember SET role = 'editor' WHERE user_id = {ada}", "has no owner among its members"),
        ("UPDATE oneclaw_space SET owner_id = {stranger}, kind = 'team' WHERE owner_id = {ada}", "has no owner among"),
        (
            "INSERT INTO oneclaw_spacemember (space_id, user_id, role, since)"
            " SELECT id, {stranger}, 'reader', now() FROM oneclaw_space WHERE owner_id = {ada}",
            "is open to person",
        ),
    ],
)
def test_a_space_of_nobody_or_of_too_many(world, broken, sql, sentence):
    lines = [line for line in broken(world.named(sql)) if RULE in line]
    assert sentence in lines[0]
