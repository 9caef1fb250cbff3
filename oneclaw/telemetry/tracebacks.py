"""Tracebacks without texts: the types and frames of a whole chain of exceptions, but no message, value or source line.

The message of an unexpected exception may quote what it failed on, such as an argument, a row or a request.
"""

import errno
import os
import traceback
from collections.abc import Iterator
from types import CodeType, TracebackType

# Of a deeper traceback, such as that of an endless recursion, the first and last frames are written.
FRAMES_MAX_COUNT = 60
# Of a group of exceptions inside groups, or of a longer chain, the rest is left out.
CHAIN_MAX_COUNT = 20

CAUSED = "This exception was the direct cause of the following one:"
MEANWHILE = "During the handling of this exception, the following one occurred:"
MEMBER = "One of the exceptions in the group above:"


def without_messages(error: BaseException) -> str:
    """Return the traceback of `error` and of what led to it, the first exception first, by types and frames alone."""
    return "\n".join(_lines(error, set()))


def named(error: BaseException) -> str:
    """Return the name of the type of `error`, with what an operating system or a database calls such an error.

    Both are from fixed lists: “OSError (No space left on device)”, “psycopg.errors.UniqueViolation (23505)”.
    """
    kind = type(error)
    if kind.__module__ == "builtins":
        number = error.errno if isinstance(error, OSError) else None
        is_known = isinstance(number, int) and number in errno.errorcode
        return f"{kind.__qualname__} ({os.strerror(number)})" if number and is_known else kind.__qualname__
    name = f"{kind.__module__}.{kind.__qualname__}"
    state = getattr(error, "sqlstate", None) if kind.__module__.startswith("psycopg") else None
    return f"{name} ({state})" if state else name


def _lines(error: BaseException, seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen and len(seen) < CHAIN_MAX_COUNT:
        yield from _lines(before, seen)
        yield CAUSED if before is error.__cause__ else MEANWHILE
    if error.__traceback__:
        yield "Traceback (most recent call last):"
        yield from _frames(error.__traceback__)
    yield named(error)
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            if id(member) not in seen and len(seen) < CHAIN_MAX_COUNT:
                yield MEMBER
                yield from _lines(member, seen)


def _frames(begin: TracebackType) -> Iterator[str]:
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(begin)]
    half = FRAMES_MAX_COUNT // 2
    left_out = len(frames) - 2 * half
    if left_out <= 0:
        yield from (_frame(*each) for each in frames)
        return
    yield from (_frame(*each) for each in frames[:half])
    yield f"  … {left_out} further frames …"
    yield from (_frame(*each) for each in frames[-half:])


def _frame(code: CodeType, line: int | None) -> str:
    return f'  File "{code.co_filename}", line {line}, in {code.co_qualname}'
