"""Which messages memory is searched for, and with which words."""

import pytest

from memory.prompt.query import INTENT_MAX_CHARS, intent_of


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("What did we decide about the roof?", "What did we decide about the roof?"),
        ("What  did\n we   decide?", "What did we decide?"),
        ("My code:\n```\nprint(1)\n```\nWhy?", "My code: Why?"),
        ("a" * 400, "a" * INTENT_MAX_CHARS),
        ("hi there", ""),
        ("123456789", ""),
        ("1234567890", "1234567890"),
        ("```\nonly code\n```", ""),
        ("```python\nx\n```\nWhat is wrong here?", ""),
        ("~~~\nnever closed\nWhat is wrong here?", ""),
        ("昨日の会議の件", "昨日の会議の件"),
    ],
)
def test_the_intent_of_a_first_message(text, intent):
    assert intent_of(text, is_first=True) == intent


@pytest.mark.parametrize(
    "text",
    [
        "Explain this error: KeyError in a dict",
        "How do I reverse a string in Python?",
        "Write a regex for German dates",
        "npm ERR! missing script: start",
        "zsh: command not found: pip",
        "docker compose up fails with exit code 137",
        "What does git rebase --onto do?",
        "Give me a function that sorts an array of objects: arr.sort((a, b) => a - b)",
        "ls -la /var/log",
        "$ make install",
        "rm -rf build",
        "def area(r):\n    return 3.14 * r ** 2",
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>',
        "Exception in thread main java.lang.NullPointerException at com.example.Main.run(Main.java:14)",
        "SELECT name FROM users WHERE id = 3",
        "Implement a class for a queue in Java",
        "Was ist der Unterschied zwischen let und var in JavaScript?",
        "How can I undo the last commit in git?",
        "Segmentation fault (core dumped) in C++",
        "explain this code please",
    ],
)
def test_a_technical_first_message_is_not_searched_for(text):
    assert intent_of(text, is_first=True) == ""
    assert intent_of(text, is_first=False)


@pytest.mark.parametrize(
    "text",
    [
        "What is the alarm code of the cottage?",
        "Which string quartets does Ada like?",
        "When does the yoga class begin?",
        "Which class does Marta teach on Fridays?",
        "What was the name of the python at the zoo?",
        "Where did they drink that coffee from Java?",
        "The script of the school play is by whom?",
        "Who found the bug in the kitchen?",
        "How does Pip get to school?",
        "What is the function of the new committee?",
        "At which terminal does Ben arrive?",
        "Which error did the dishwasher show?",
        "What type of flowers are on the list?",
        "Is there rust on the old bicycle?",
        "Which object did Nate go for at the auction?",
        "Write a poem about the sea",
        "Wie lautet der Code der Alarmanlage im Ferienhaus?",
    ],
)
def test_everyday_words_are_not_technical(text):
    assert intent_of(text, is_first=True) == text


@pytest.mark.parametrize(
    "text",
    [
        "Write a regex for dates in our project",
        "Which Docker image does my server run?",
        "How is the deployment to Kubernetes done?",
        "Which API did we choose for the product?",
        "Where is the repo with the Terraform files?",
        "Did I use zsh or bash?",
        "Which JSON library have I always preferred?",
        "Wie heißt das Git-Repository, in dem unser Docker-Setup liegt?",
        "Quel serveur notre projet utilise-t-il pour docker ?",
    ],
)
def test_a_technical_message_about_the_person_or_a_project_is_searched_for(text):
    assert intent_of(text, is_first=True) == text
