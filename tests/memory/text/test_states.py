"""A newer line about a job or a home ends an older one: in six languages, and only when it says so plainly."""

import pytest

from memory.text.states import states_in, supersedes

# (newer, older): the older line is no longer so.
OUTDATED = [
    ("Works at Südwind", "Works at Nordwind"),
    ("Ada now works at Südwind as a lead", "Ada works at Nordwind since 2019"),
    ("I started a new job at Südwind in May.", "I work for Nordwind."),
    ("No longer works at Nordwind", "Works at Nordwind AG in Zurich"),
    ("Quit her job", "Ada works at Nordwind"),
    ("Lost my job as a banker yesterday", "I work as a banker"),
    ("Moved to Basel", "Lives in Bern"),
    ("We moved from Bern to Basel.", "I live in Bern."),
    ("My sister lives in Porto", "My sister lives in Lisbon"),
    ("Employer: Südwind", "Works at Nordwind"),
    ("The user works as a teacher", "User works as a nurse at the hospital"),
    ("Arbeitet jetzt bei Südwind", "Arbeitet bei Nordwind"),
    ("Ada hat bei Südwind angefangen", "Ada arbeitet seit 2019 bei Nordwind"),
    ("Ich arbeite nicht mehr bei Nordwind", "Ich arbeite bei Nordwind"),
    ("Ada hat gekündigt", "Ada arbeitet bei Nordwind"),
    ("Ist nach Basel gezogen", "Wohnt in Bern"),
    ("Meine Schwester wohnt in Porto", "Meine Schwester wohnt in Lissabon"),
    ("Wohnt nicht mehr in Bern", "Wohnt in Bern"),
    ("Travaille maintenant chez Südwind", "Travaille chez Nordwind"),
    ("Je ne travaille plus chez Nordwind", "Je travaille chez Nordwind"),
    ("A déménagé à Lyon", "Habite à Paris"),
    ("J'habite à Lyon", "J'habite à Paris"),
    ("A démissionné", "Travaille chez Nordwind"),
    ("Ahora trabaja en Südwind", "Trabaja en Nordwind"),
    ("Ya no trabaja en Nordwind", "Trabaja en Nordwind"),
    ("Se mudó a Sevilla", "Vive en Madrid"),
    ("Ha dejado su trabajo", "Trabaja como profesora en Nordwind"),
    ("Südwindに転職した", "Nordwindで働いている"),
    ("アダは大阪に引っ越した", "アダは東京に住んでいる"),
    ("Nordwindを退職した", "私はNordwindで働いています"),
    ("跳槽到Südwind", "在Nordwind工作"),
    ("我现在住在上海", "我住在北京"),
    ("搬到了上海", "住在北京"),
    ("从Nordwind离职", "在Nordwind工作"),
]
# The two lines may both be true, or it is not plain that they are about the same.
BOTH_TRUE = [
    ("Works at Nordwind AG", "Works at Nordwind"),
    ("Works at Südwind", "Tom works at Nordwind"),
    ("Wants to work at Südwind", "Works at Nordwind"),
    ("Used to live in Basel", "Lives in Bern"),
    ("Lived in Basel", "Lives in Bern"),
    ("Moved to Basel in 2015", "Lives in Bern"),
    ("Lives in Switzerland", "Lives in Bern"),
    ("Lives in a flat with a garden", "Lives in Bern"),
    ("Works at night", "Works at Nordwind"),
    ("Works with Anna", "Works at Nordwind"),
    ("Might move to Basel", "Lives in Bern"),
    ("Plans to move to Basel", "Lives in Bern"),
    ("Also works at the Museum on Fridays", "Works at Nordwind"),
    ("Does she live in Basel?", "Lives in Bern"),
    ("Tom no longer works at Nordwind", "Works at Nordwind"),
    ("No longer works at Südwind", "Works at Nordwind"),
    ("Möchte bei Südwind arbeiten", "Arbeitet bei Nordwind"),
    ("Wohnt in der Nähe von Bern", "Wohnt in Basel"),
    ("Arbeitet zu Hause", "Arbeitet bei Nordwind"),
    ("Wohnt in einer WG", "Wohnt in Bern"),
    ("Travaille à la maison", "Travaille chez Nordwind"),
    ("Veut travailler chez Südwind", "Travaille chez Nordwind"),
    ("Vive en un piso", "Vive en Madrid"),
    ("Quiere vivir en Sevilla", "Vive en Madrid"),
    ("家で働いている", "Nordwindで働いている"),
    ("姉は大阪に住んでいる", "東京に住んでいる"),
    ("想搬到上海", "住在北京"),
    ("正在努力工作", "在Nordwind工作"),
    ("Likes tea", "Lives in Bern"),
    ("Project: moved the server to Frankfurt", "Lives in Bern"),
    ("The meeting moved to Tuesday", "Lives in Bern"),
    ("He lives in Basel", "Lives in Bern"),
    ("Ada and Tom moved the party to Basel", "Ada lives in Bern"),
    ("Left the house at 8", "Works at Nordwind"),
    ("The package was moved to Basel", "Lives in Bern"),
]


@pytest.mark.parametrize(("newer", "older"), OUTDATED)
def test_a_newer_line_ends_an_older_one(newer, older):
    assert supersedes(f"- {newer}", f"- {older}", 2024, ["Ada"])


@pytest.mark.parametrize(("newer", "older"), BOTH_TRUE)
def test_lines_that_may_both_be_true_are_left_alone(newer, older):
    assert not supersedes(f"- {newer}", f"- {older}", 2024, ["Ada"])


def test_a_line_does_not_end_itself():
    assert [older for _, older in OUTDATED if supersedes(older, older, 2024, ["Ada"])] == []


def test_whether_a_line_names_its_subject_is_known():
    assert [state.is_named for state in states_in("- Works at Südwind")] == [False]
    assert [state.is_named for state in states_in("- Ada works at Südwind", ["Ada"])] == [True]
    assert [state.is_named for state in states_in("- 私はNordwindで働いています")] == [True]


def test_a_long_line_is_left_alone():
    assert states_in("- Ada works at Nordwind") != []
    assert states_in("- Ada works at " + "Nord und " * 20_000) == []
