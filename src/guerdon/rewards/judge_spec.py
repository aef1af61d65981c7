"""Judge rewards in one line, as the command line says them: `judge:rubric?server=http://localhost:8000/v1&model=NAME`.

`judge:score`, `judge:rubric` or `judge:compare`, then options joined by '&' as key=value; %26 stands for '&'.

The voice   `server` and `model`: a model behind an OpenAI-compatible server; `model` alone: one that is loaded here;
            `role`: a model of the run (`policy`, or a role of its method)
The server  key_env, tokens_field, timeout, retries, max_wait, concurrency, per_minute, cache (a folder), price_in,
            price_out, max_cost, max_tokens, max_requests
All voices  temperature, max_new_tokens, repairs; max_failures (a share), window
The reward  score: guide, low, high, reference, votes, by (words or labels); rubric: rubric; compare: guide, against,
            votes; all: worth, such as worth=no_answer=none
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from guerdon.judges.base import Voice
from guerdon.judges.cache import Cache
from guerdon.judges.guard import Guard
from guerdon.judges.usage import Limits
from guerdon.names import nearest
from guerdon.rewards.base import Reward
from guerdon.rewards.judged import JUDGED, JudgeCompare, JudgeRubric, JudgeScore
from guerdon.specs import split_spec

PREFIX = "judge:"
Options = Mapping[str, Any]
Reader = Callable[[str], Any]


def load_judge_reward(spec: str, weight: float = 1.0) -> Reward:
    """The reward that a spec names. ValueError for an unknown kind, key or value, with the nearest right one.

    A local model is loaded at once and a server's key looked up, so that what is missing shows before a run.
    """
    kind, texts = _parsed(spec)
    make, own = KINDS[kind]
    voice, spoken = _voice(texts, kind)
    accepted = {**_ALL, **own, **spoken, "worth": JUDGED.but}
    for key in texts:
        if key not in accepted:
            raise ValueError(f"{PREFIX}{kind} has no option {key!r}{nearest(key, accepted)}")
    given = {key: _read(accepted[key], key, text, kind) for key, text in texts.items()}
    settings = {key: given.pop(key) for key in (*own, "worth") if key in given}
    if "by" in settings:
        settings["by_labels"] = settings.pop("by")
    guard = {"max_share" if key == "max_failures" else key: given.pop(key) for key in _GUARD if key in given}
    try:
        speaker = voice({**given, "guard": _guard(**guard)})
        if settings.get("votes", 1) > 1 and getattr(speaker, "temperature", None) == 0:
            raise ValueError("several votes are all alike at temperature 0; add temperature=1, or leave out votes")
        return make(speaker, weight=weight, **settings)
    except ValueError as error:
        raise ValueError(f"{PREFIX}{kind}: {error}") from error


def list_judge_rewards() -> dict[str, str]:
    """Specs with what they are, for people to read."""
    return {
        f"{PREFIX}{kind}?model=NAME": " ".join((make.__doc__ or "").split("\n\n")[0].split())
        for kind, (make, _) in KINDS.items()
    }


def _parsed(spec: str) -> tuple[str, dict[str, str]]:
    name, texts = split_spec(spec, "reward")
    kind = name.removeprefix(PREFIX)
    if not name.startswith(PREFIX) or kind not in KINDS:
        raise ValueError(f"there is no judge reward {name!r}{nearest(name, [PREFIX + kind for kind in KINDS])}")
    return kind, texts


def _voice(texts: Mapping[str, str], kind: str) -> tuple[Callable[[Options], Voice], Mapping[str, Reader]]:
    """How to make the voice that the options speak of, and which of them it takes."""
    if "server" in texts:
        if "model" not in texts:
            raise ValueError(f"{PREFIX}{kind}: a server is given but no model; add model=NAME, as the server calls it")
        return _server, _SERVER
    if "role" in texts and "model" in texts:
        raise ValueError(f"{PREFIX}{kind}: both a role of the run and a model are given; expected one of them")
    if "role" in texts:
        return _role, {"role": _text}
    if "model" in texts:
        return _model, {"model": _text}
    raise ValueError(
        f"{PREFIX}{kind}: nobody is named to judge; give model=NAME (loaded here), server=ADDRESS&model=NAME, "
        "or role=ROLE (of the run)"
    )


def _server(given: Options) -> Voice:
    from guerdon.judges.server import ServerVoice

    limits = Limits(**{key: given[key] for key in _LIMITS if key in given})
    return ServerVoice(**{key: value for key, value in given.items() if key not in _LIMITS}, limits=limits)


def _role(given: Options) -> Voice:
    from guerdon.judges.local import LocalVoice

    return LocalVoice(**given)


def _model(given: Options) -> Voice:
    from guerdon.judges.local import load_voice

    return load_voice(**given)


def _guard(**given: Any) -> Guard:
    window = given.get("window", Guard.window)
    return Guard(**given, least=min(Guard.least, window))


def _read(reader: Reader, key: str, text: str, kind: str) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise ValueError(f"{PREFIX}{kind}: {key} is {text!r}; {error}") from error


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("expected some text")
    return text


def _whole(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError("expected a whole number, 0 or more")
    return int(text)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("expected a finite number")
    return number


def _warmth(text: str) -> float | None:
    """'none' leaves the temperature out of a request."""
    return None if text.lower() == "none" else _number(text)


def _by(text: str) -> bool:
    if text not in ("words", "labels"):
        raise ValueError("expected words or labels")
    return text == "labels"


_LIMITS: Mapping[str, Reader] = {
    "price_in": _number,
    "price_out": _number,
    "max_cost": _number,
    "max_tokens": _whole,
    "max_requests": _whole,
}
_GUARD: Mapping[str, Reader] = {"max_failures": _number, "window": _whole}
_ALL: Mapping[str, Reader] = {"temperature": _number, "max_new_tokens": _whole, "repairs": _whole, **_GUARD}
_SERVER: Mapping[str, Reader] = {
    "server": _text,
    "model": _text,
    "key_env": _text,
    "temperature": _warmth,
    "tokens_field": _text,
    "timeout": _number,
    "retries": _whole,
    "max_wait": _number,
    "concurrency": _whole,
    "per_minute": _whole,
    "cache": Cache,
    **_LIMITS,
}
KINDS: Mapping[str, tuple[Callable[..., Reward], Mapping[str, Reader]]] = {
    "score": (
        JudgeScore,
        {"guide": _text, "low": _number, "high": _number, "reference": _text, "votes": _whole, "by": _by},
    ),
    "rubric": (JudgeRubric, {"rubric": _text}),
    "compare": (JudgeCompare, {"guide": _text, "against": _text, "votes": _whole}),
}
