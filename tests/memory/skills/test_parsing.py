"""SKILL.md is read after the specification of agentskills.io, and each fault is a sentence. Pure."""

import time

import pytest

from memory.skills.parsing import has_invisible, is_name, parse
from tests.skills import skill_text


def faults(text, folder="release-notes"):
    return [str(reason) for reason in parse(text, folder).faults]


def test_a_skill_has_all_fields_of_the_specification():
    text = skill_text(
        license="MIT",
        compatibility="Needs git",
        allowed_tools="Bash(git log *) Read",
        metadata="\n  author: Ada\n  version: 1.0",
    )
    parsed = parse(text, "release-notes")
    assert parsed.faults == ()
    assert parsed.warnings == ()
    assert (parsed.name, parsed.license, parsed.compatibility) == ("release-notes", "MIT", "Needs git")
    assert parsed.metadata == {"author": "Ada", "version": "1.0"}
    assert parsed.allowed_tools == ("Bash(git log *)", "Read")
    assert not parsed.is_only_named
    assert parsed.body == "Group the changes into Added, Changed and Fixed."


@pytest.mark.parametrize("said", ["true", "True", "yes"])
def test_a_skill_may_be_for_naming_only(said):
    assert parse(skill_text(disable_model_invocation=said), "release-notes").is_only_named
    assert not parse(skill_text(disable_model_invocation="false"), "release-notes").is_only_named


def test_a_byte_order_mark_and_line_ends_of_windows_are_taken():
    plain = skill_text()
    assert parse("\ufeff" + plain.replace("\n", "\r\n"), "release-notes") == parse(plain, "release-notes")


@pytest.mark.parametrize(("name", "is_valid"), [("a", True), ("a" * 64, True), ("a" * 65, False), ("", False)])
def test_a_name_has_1_to_64_characters(name, is_valid):
    assert (faults(skill_text(name), name) == []) == is_valid
    assert is_name(name) == is_valid


@pytest.mark.parametrize("name", ["Release", "a--b", "-a", "a-", "a_b", "ä", "a b", "../a", "a/b", "a\u200b"])
def test_a_name_has_small_letters_digits_and_single_hyphens(name):
    assert any("cannot be a name" in each for each in faults(skill_text(name), name))


def test_the_name_is_that_of_the_folder():
    assert faults(skill_text("other")) == [
        "The name is “other”, but the folder is “release-notes”: they must be the same."
    ]


@pytest.mark.parametrize(("size", "is_valid"), [(0, False), (1, True), (1023, True), (1024, True), (1025, False)])
def test_a_description_has_1_to_1024_characters(size, is_valid):
    assert (faults(skill_text(description="x" * size)) == []) == is_valid


@pytest.mark.parametrize(("size", "is_valid"), [(499, True), (500, True), (501, False)])
def test_compatibility_has_at_most_500_characters(size, is_valid):
    assert (faults(skill_text(compatibility="x" * size)) == []) == is_valid


@pytest.mark.parametrize(("lines", "warns"), [(499, False), (500, False), (501, True)])
def test_more_than_500_lines_are_a_warning(lines, warns):
    parsed = parse(skill_text(body="\n".join(["x"] * lines)), "release-notes")
    assert parsed.faults == ()
    assert any(reason.code == "skill.many_lines" for reason in parsed.warnings) == warns


@pytest.mark.parametrize(("chars", "warns"), [(4 * 4_998, False), (4 * 4_999, False), (4 * 4_999 + 1, True)])
def test_5000_tokens_are_a_warning(chars, warns):
    # The body begins after a blank line and ends with a line end.
    parsed = parse(skill_text(body="x" * (chars - 2)), "release-notes")
    assert parsed.faults == ()
    assert any(reason.code == "skill.many_tokens" for reason in parsed.warnings) == warns


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must begin with a line"),
        ("# Notes", "must begin with a line"),
        ("---\nname: a\n", "A second line"),
        ("---\n- a\n---\nb", "must be a field"),
        ("---\nname: a: b\n---\nb", "Line 2 is not valid YAML"),
        ("---\nname: a\nname: b\n---\nb", "“name” is there twice"),
        ("---\nname: &a x\ndescription: *a\n---\nb", "has an alias"),
        ("---\nname: release-notes\ndescription: [x]\n---\nb", "“description” is missing"),
        ("---\nname: release-notes\ndescription: x\nmetadata: [x]\n---\nb", "“metadata” must have"),
        ("---\nname: release-notes\ndescription: x\nallowed-tools: {a: b}\n---\nb", "“allowed-tools” must be"),
        ("---\nname: release-notes\ndescription: x\nlicense: [a]\n---\nb", "“license” must be text"),
        ("---\nname: release-notes\ndescription: x\n---\n \n", "no instructions"),
        ("---\n{[x]: y}\n---\nb", "must be a field"),
        ("---\nname: \x07\n---\nb", "is not valid YAML"),
    ],
)
def test_each_fault_is_a_sentence(text, fault):
    found = faults(text)
    assert any(fault in each for each in found), found


@pytest.mark.parametrize(("size", "is_valid"), [(16_000, True), (16_001, False)])
def test_the_frontmatter_has_at_most_16000_characters(size, is_valid):
    head = f"name: release-notes\ndescription: {'x' * 1000}\n# "
    text = f"---\n{head}{'y' * (size - len(head))}\n---\nbody"
    assert (faults(text) == []) == is_valid


def test_hostile_yaml_ends_soon_and_makes_nothing():
    for head in (
        "[" * 8_000,
        "a: " + "{b: " * 3_000,
        "!!python/object/apply:os.system ['true']",
        "? [a]\n: b",
        "a: !!map x",
    ):
        started = time.monotonic()
        assert faults(f"---\n{head}\n---\nbody")
        assert time.monotonic() - started < 2
    tagged = parse(skill_text(license="!!python/name:os.system x"), "release-notes")
    assert isinstance(tagged.license, str)


@pytest.mark.parametrize(("depth", "is_valid"), [(5, True), (6, True), (7, False)])
def test_the_frontmatter_is_nested_at_most_eight_deep(depth, is_valid):
    nested = skill_text(other="[" * depth + "x" + "]" * depth)
    assert any("nested more than 8" in each for each in faults(nested)) != is_valid


def test_unknown_fields_are_a_warning():
    parsed = parse(skill_text(model="opus"), "release-notes")
    assert parsed.faults == ()
    assert [str(each) for each in parsed.warnings] == ["These fields have no effect here: model."]


def test_characters_that_cannot_be_seen_are_found():
    assert has_invisible("Be kind.\U000e0041\U000e0042")
    assert has_invisible("a\u202eb")
    assert not has_invisible("\ufeffBe kind. 👩\u200d💻 می\u200cخواهم")
