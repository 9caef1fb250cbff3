"""Running titles: lines at the top or bottom of most pages are the title of the file, and no text of its pages."""

from memory.library.running import running_titles, without_titles

PAGES = [
    "Torfen press – manual\nScope\nThe oil is replaced.\n1 / 4",
    "Torfen press – manual\nRecords\nA list is kept.\n2 / 4",
    "Torfen press – manual\nAnnex\nThe drawings.\n3 / 4",
    "A page of its own\n4 / 4",
]


def test_a_line_at_the_edge_of_most_pages_is_the_title():
    running, title = running_titles(PAGES)
    assert (running, title) == ({"Torfen press – manual", "# / #"}, "Torfen press – manual")
    # The other lines keep their numbers.
    assert without_titles(PAGES[0], running) == "\nScope\nThe oil is replaced.\n"
    assert without_titles(PAGES[3], running) == "A page of its own\n"


def test_two_pages_and_lines_in_the_middle_have_none():
    assert running_titles(PAGES[:2]) == (set(), "")
    same = "\n".join(["one {0}", "two {0}", "The same on each page", "three {0}", "four {0}"])
    assert running_titles([same.format(word) for word in ("a", "b", "c", "d")]) == (set(), "")
