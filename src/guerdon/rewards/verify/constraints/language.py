"""The language of a text, as langdetect sees it; the only file that imports it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from guerdon.names import nearest
from guerdon.rewards.verify.constraints.counts import Check, ConstraintError
from guerdon.rewards.words import words


def response_language(text: str, language: str) -> str:
    """The most probable language of the text (its first 10,000 characters) is `language`, an ISO 639-1 code.

    'zh' stands for both spellings of Chinese. A text without letters is in no language. ImportError without langdetect.
    """
    known = _languages()
    if not isinstance(language, str) or language.lower() not in known:
        raise ConstraintError(f"there is no language {language!r}{nearest(str(language), known)}")
    found = detect(text)
    if found is None:
        return "no words to tell the language by"
    wanted = language.lower()
    return "" if found == wanted or found.split("-")[0] == wanted else f"the language is {found}, expected {wanted}"


ENOUGH = 10
"""Words from which on the language of a text is asked for where only its letters were in question."""


def english(text: str) -> str:
    """'' when a text is English, or too short to tell (fewer than 10 words); letter case does not count."""
    return response_language(text.lower(), "en") if len(words(text)) >= ENOUGH else ""


def detect(text: str) -> str | None:
    """The code of the most probable language; None without letters. The same text always gets the same answer."""
    langdetect = _langdetect()
    try:
        return str(langdetect.detect(text))
    except langdetect.LangDetectException as error:
        if error.code != langdetect.lang_detect_exception.ErrorCode.CantDetectError:
            raise
        return None


def _languages() -> set[str]:
    codes = set(_langdetect().detector_factory._factory.get_lang_list())
    return codes | {code.split("-")[0] for code in codes}


def _langdetect() -> Any:
    try:
        import langdetect
    except ImportError as error:
        raise ImportError("telling languages needs the package langdetect: pip install 'guerdon[text]'") from error
    langdetect.DetectorFactory.seed = 0
    with _LOADING:  # a second thread would find the languages half loaded
        langdetect.detector_factory.init_factory()
    return langdetect


_LOADING = threading.Lock()


KINDS: Mapping[str, Check] = {"language:response_language": response_language}
