#!/usr/bin/env python
import sys


def main() -> None:
    from oneclaw.command_line import manage

    manage(sys.argv[1:])


if __name__ == "__main__":
    main()
