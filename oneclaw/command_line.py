"""The command `oneclaw` of an installed wheel, and all commands of manage.py.

`oneclaw run` starts everything, as ./oneclaw.sh does in a checkout, which installs the requirements before.
"""

import importlib.util
import os
import shutil
import subprocess
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import ProgrammingError

from oneclaw.config import release

HELP = """oneclaw run          start everything, and print the address and the link of the first account
oneclaw extra NAME   install an extra, such as saml
oneclaw --version    print the version
oneclaw …            any other command, such as adduser, memory, backup or restore; oneclaw help lists them"""
EXTRAS = ("saml",)
# The SQLSTATEs of UndefinedTable and UndefinedColumn.
TABLES_MISSING = ("42P01", "42703")


def main() -> None:
    """Run the words after `oneclaw`."""
    # Modules are compiled once, or every start would take seconds longer.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    match sys.argv[1:]:
        case [] | ["-h"] | ["--help"]:
            print(HELP)
        case ["run", *words]:
            if sentence := other_versions():
                print(sentence, file=sys.stderr)
            manage(["serve", *words])
        case ["extra", *words]:
            sys.exit(install_extra(words))
        case words:
            manage(words)


def manage(words: list[str]) -> None:
    """Run the command of manage.py that `words` are; what is wrong with the installation is a sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    if words == ["--version"]:
        print(f"oneclaw {release.version()}")
        return
    try:
        execute_from_command_line(["oneclaw" if release.is_installed() else "manage.py", *words])
    except ImproperlyConfigured as wrong:
        sys.exit(str(wrong))
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", "") not in TABLES_MISSING:
            raise
        sys.exit("The database has no tables yet, or not those of this release: run the command migrate first.")


def other_versions() -> str:
    """Return a sentence about installed packages that have another version than the one tested; "" without them."""
    differing = release.other_versions()
    if not differing:
        return ""
    some = ", ".join(differing[:3]) + (f" and {len(differing) - 3} more" if len(differing) > 3 else "")
    return f"This release was tested with other versions of packages ({some}): install those of {release.pinned_file()}"


def install_extra(words: list[str]) -> int | str:
    """Install the extra that `words` name into this environment; return the exit code, or a sentence."""
    if len(words) != 1 or words[0] not in EXTRAS:
        return f"Name an extra: {', '.join(EXTRAS)}."
    requirements = str(release.root() / "requirements" / f"{words[0]}.txt")
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--quiet", "--python", sys.executable]
    else:
        return f"Neither pip nor uv is here: install what {requirements} names, or oneclaw[{words[0]}]."
    return subprocess.run([*command, "--require-hashes", "-r", requirements], check=False).returncode
