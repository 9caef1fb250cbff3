#!/bin/sh
# ./oneclaw.sh run     install what is missing and start everything
# ./oneclaw.sh test    install what tests need and run them (arguments go to pytest)
# ./oneclaw.sh week    live three weeks of a team of five through the real processes, in minutes, and check what is left
# ./oneclaw.sh extra   install an extra by its name, such as saml
# ./oneclaw.sh …       anything else goes to manage.py, e.g. adduser, memory, check_invariants
set -eu
cd "$(dirname "$0")"
# Modules are compiled once, into .venv and this checkout, or every start would take seconds longer.
unset PYTHONDONTWRITEBYTECODE

say() { printf '%s\n' "$*" >&2; }

find_python() {
    for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s' "$name"
            return
        fi
    done
    say "OneClaw needs Python 3.11 or newer, and none was found: install it and try again."
    return 1
}

# The environment .venv holds what the requirement file $1 names; installed again only when that file changes.
environment() {
    wanted=$(cksum <"$1")
    if .venv/bin/python -c '' 2>/dev/null; then
        [ "$(cat ".venv/$2" 2>/dev/null)" = "$wanted" ] && return
    else
        python=$(find_python)
        if [ -e .venv ] && [ ! -w .venv ]; then
            say "The folder .venv belongs to another account: remove it, or run this as its owner."
            exit 1
        fi
        rm -rf .venv
        "$python" -m venv .venv >/dev/null 2>&1 || {
            rm -rf .venv
            say "$python cannot make a virtual environment: install its venv module (on Debian: python3-venv)."
            exit 1
        }
    fi
    say "Installing what $1 names …"
    install "$1"
    printf '%s' "$wanted" >".venv/$2"
}

# By uv, which takes a fraction of pip's time; by pip where uv does not run or finds no packages (it knows nothing of
# pip's configuration). Both check the hashes.
install() {
    export VIRTUAL_ENV="$PWD/.venv" UV_SYSTEM_CERTS=1
    if command -v uv >/dev/null 2>&1; then
        uv pip install --quiet --require-hashes -r "$1" 2>/dev/null && return
    elif pip_install --no-compile -r requirements/installer.txt 2>/dev/null; then
        .venv/bin/uv pip install --quiet --cache-dir .venv/cache --require-hashes -r "$1" 2>/dev/null && installed=yes
        rm -rf .venv/cache
        [ "${installed:-}" = yes ] && return
    fi
    pip_install -r "$1"
}

pip_install() {
    .venv/bin/python -m pip install -qq --disable-pip-version-check --require-hashes "$@"
}

# Programs that tests drive: a browser, and the broker of a team's set-up.
test_programs() {
    missing=
    if ! command -v chromium-headless-shell >/dev/null 2>&1 && can_install && [ ! -e .venv/shell-wanted ]; then
        # Chromium without windows of its own takes a third of the time; where it cannot be had, Chromium itself does.
        touch .venv/shell-wanted
        say "Installing chromium-headless-shell …"
        installed chromium-headless-shell fonts-dejavu-core 2>/dev/null || say "It cannot be had: Chromium it is."
    fi
    command -v chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null 2>&1 ||
        command -v google-chrome >/dev/null 2>&1 || missing="chromium fonts-dejavu-core"
    command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
    [ -n "$missing" ] || return 0
    if can_install; then
        say "Installing $missing …"
        # shellcheck disable=SC2086
        installed $missing
    else
        say "The tests need these programs; install them first: $missing"
        exit 1
    fi
}

can_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

installed() {
    apt-get update -qq >/dev/null &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

case "${1:-}" in
run)
    shift
    environment requirements/run.txt run-installed
    exec .venv/bin/python manage.py serve "$@"
    ;;
test)
    shift
    environment requirements/test.txt test-installed
    test_programs
    [ $# -gt 0 ] || set -- -m "not faults and not soak" -n 3 --dist loadfile --no-loadscope-reorder
    exec .venv/bin/python -m pytest "$@"
    ;;
week)
    shift
    environment requirements/test.txt test-installed
    test_programs
    TEST_LIFE=long exec .venv/bin/python -m pytest -s tests/acceptance/test_lived_in.py "$@"
    ;;
extra)
    if [ "${2:-}" != saml ]; then
        say "Name an extra: saml."
        exit 1
    fi
    environment requirements/run.txt run-installed
    say "Installing what requirements/$2.txt names …"
    install "requirements/$2.txt"
    ;;
"" | -h | --help)
    sed -n '2,6s/^# //p' "$0"
    ;;
*)
    environment requirements/run.txt run-installed
    exec .venv/bin/python manage.py "$@"
    ;;
esac
