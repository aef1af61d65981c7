"""Something with options in one line, as the command line says it: `name?key=value&key=value`."""

from __future__ import annotations

from urllib.parse import unquote


def split_spec(spec: str, what: str) -> tuple[str, dict[str, str]]:
    """The name and its options as text; %26 stands for '&' and %0A for a new line.

    what: 'task', 'reward', ..., for the ValueError about a missing name, an option without '=' or one given twice;
    values are not repeated in it, since one of them may be a key that somebody pasted.
    """
    name, _, query = spec.partition("?")
    if not name:
        raise ValueError(f"{what} spec {spec!r} has no name before its options")
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise ValueError(
                f"{what} {name}: found the option {key!r} without a value; expected key=value, joined by '&'"
            )
        if key in options:
            raise ValueError(f"{what} {name}: {key!r} is given twice")
        options[key] = unquote(value)
    return name, options
