"""Find and make the data folder, which only the account that runs OneClaw may read."""

import os
import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import release

# What OneClaw writes there. The embedded server and its programs have modes and an account of their own.
PRIVATE_FOLDERS = ("workspaces", "attachments", "imports", "queue", "static")
# New files and folders of the processes of `serve` are readable by their account only.
PRIVATE_UMASK_BITS = 0o077


def usual_home() -> Path:
    """Return the data folder without ONECLAW_HOME: `data` in a checkout, else where this platform keeps data of
    programs. Raise ImproperlyConfigured when this account has no home folder."""
    if not release.is_installed():
        return release.root() / "data"
    # The specification of XDG ignores a relative path.
    folder = Path(os.environ.get("XDG_DATA_HOME", "").strip())
    if folder.is_absolute() and sys.platform != "darwin":
        return folder / "oneclaw"
    try:
        person = Path.home()
    except RuntimeError:
        raise ImproperlyConfigured("This account has no home folder: set ONECLAW_HOME to the data folder.") from None
    return person / ("Library/Application Support" if sys.platform == "darwin" else ".local/share") / "oneclaw"


def make_home(home: Path) -> None:
    """Create the folder `home`, and close it and what is in it to other accounts.

    Raise ImproperlyConfigured when it cannot be made.
    """
    # Root's embedded server runs under another account, which must get through to its data.
    mode = 0o711 if os.geteuid() == 0 else 0o700
    try:
        home.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {home} cannot be made ({error.strerror}): set ONECLAW_HOME to a folder you may write to."
        ) from error
    close(home, mode)
    for name in PRIVATE_FOLDERS:
        if (home / name).is_dir():
            close(home / name, 0o700)


def close(folder: Path, mode: int) -> None:
    """Take away what `mode` does not allow, if the folder is of this account."""
    found = folder.stat()
    if found.st_uid == os.geteuid() and found.st_mode & 0o777 & ~mode:
        folder.chmod(found.st_mode & mode)
