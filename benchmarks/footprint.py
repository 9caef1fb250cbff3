"""How soon `oneclaw serve` answers and how much memory it takes, in a data folder of its own, first and second start.

    python benchmarks/footprint.py

Prints seconds until `/healthz`, the sign-in page and `/readyz`, and the memory of all processes after 15 idle seconds.
PSS counts a page that several processes share once (the children share what the supervisor has loaded), RSS once for
each of them. Linux only.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.stage import House, embedded, everything, open_folder

IDLE = 15.0


def main() -> None:
    with open_folder() as folder:
        for start in ("first", "second"):
            begun = time.monotonic()
            with embedded(folder) as one:
                for path in ("/healthz", "/accounts/login/", "/readyz"):
                    while not answers(one, path):
                        time.sleep(0.01)
                    print(f"{start} start: {path} after {time.monotonic() - begun:.1f} s")
                if start == "second":
                    time.sleep(IDLE)
                    report(one)


def answers(one: House, path: str) -> bool:
    try:
        return one.get(path)[0] == 200
    except OSError:
        return False


def report(one: House) -> None:
    pss_all = rss_all = 0
    for process in sorted(everything(one.home, one["serve"].pid)):
        pss, rss = memory(process)
        pss_all, rss_all = pss_all + pss, rss_all + rss
        print(f"{pss / 1024:7.1f} MB PSS {rss / 1024:7.1f} MB RSS  {command(process)[:70]}")
    print(f"{pss_all / 1024:7.1f} MB PSS {rss_all / 1024:7.1f} MB RSS  together")


def memory(process: int) -> tuple[int, int]:
    """Proportional and resident set size in kB."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
    return sizes["Pss"], sizes["Rss"]


def command(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ").strip()


if __name__ == "__main__":
    main()
