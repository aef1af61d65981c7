"""`guerdon model check`: what a model's tokenizer and chat template do, and whether it can be trained with them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.commands.output import Failed
from guerdon.commands.policy import model_name, quieten, trained_options

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.conformance import Report

_SAMPLE = [{"role": "user", "content": "question"}, {"role": "assistant", "content": "reply"}]


@dataclass(frozen=True)
class Words:
    """A model without its weights: how it writes conversations, and what its files say of ends, ids and length.

    positions: the longest sequence it was made for; None where it does not say.
    """

    chat: Chat
    generation: Any
    source: Path | str
    vocabulary: int
    positions: int | None


def load_words(model: str, end_token: str | None = None) -> Words:
    """The tokenizer of MODEL and what is known of its ids. OSError or ValueError when they cannot be read."""
    from transformers import AutoTokenizer

    from guerdon.chat import Chat
    from guerdon.models import gguf
    from guerdon.models.load import SMOLLM2, resolve
    from guerdon.models.size import size_of

    quieten()
    trained, name = trained_options(model), model_name(model)
    source = gguf.folder() if name == SMOLLM2 else resolve(name)
    vocabulary = size_of(name).vocabulary
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(source), local_files_only=isinstance(source, Path))
    except (OSError, ValueError) as error:
        raise ValueError(f"the tokenizer of {source} cannot be loaded: {error}") from error
    end = end_token or trained.get("end_token")
    if end is not None:
        if end not in tokenizer.get_vocab():
            raise ValueError(f"the end token {end!r} is not one token of {source}; name one of its vocabulary")
        tokenizer.eos_token = end
    config = _config(source)
    positions = None if config is None else getattr(config.get_text_config(), "max_position_embeddings", None)
    chat = Chat(tokenizer, template=trained.get("chat_template"))
    return Words(chat, _generation(source, config), source, vocabulary, positions)


def _config(source: Path | str) -> Any:
    """The model's configuration; None of a folder of adapters."""
    from transformers import AutoConfig

    if isinstance(source, Path) and not (source / "config.json").is_file():
        return None
    return AutoConfig.from_pretrained(str(source), local_files_only=isinstance(source, Path))


def _generation(source: Path | str, config: Any) -> Any:
    """The model's generation config, else what its configuration says of it, if it has one."""
    from transformers import GenerationConfig

    try:
        return GenerationConfig.from_pretrained(str(source), local_files_only=isinstance(source, Path))
    except OSError:
        return None if config is None else GenerationConfig.from_model_config(config)


def check(model: str, end_token: str | None = None) -> dict[str, Any]:
    """Print what the template does, and return it. Failed, with the same, when it stands in the way of training."""
    from guerdon.conformance import examine

    words = load_words(model, end_token)
    try:
        report, problems = examine(words.chat, words.generation), []
    except ValueError as error:
        report, problems = None, [str(error)]
    if report is not None:
        problems = [*report.faults, *_outside(words, report)]
    findings = [] if report is None else [text for text in report.findings if text not in report.faults]
    result: dict[str, Any] = {
        "model": model,
        "source": str(words.source),
        "fit": not problems,
        "problems": problems,
        "findings": findings,
        "template": _facts(report),
        "ends": [] if report is None else [_named(words.chat, i) for i in report.end_ids],
        "pad": None if report is None or report.pad is None else _named(words.chat, report.pad),
        "example": None if report is None else _example(words.chat),
    }
    for line in _lines(result):
        print(line)
    if problems:
        raise Failed(f"{model} cannot be trained as it is: {' '.join(problems)}", "Unfit", **result)
    return result


def _outside(words: Words, report: Report) -> list[str]:
    """Ids that the tokenizer can write and the model has no row for."""
    largest = max(words.chat.tokenizer.get_vocab().values(), default=-1)
    if largest < words.vocabulary:
        return []
    return [
        f"The tokenizer has ids up to {largest}, the model {words.vocabulary} embeddings; some text cannot be read."
    ]


def _facts(report: Report | None) -> dict[str, Any] | None:
    return None if report is None else {k: v for k, v in asdict(report).items() if k not in ("end_ids", "pad")}


def _example(chat: Chat) -> str:
    """A question and its reply as they are written, special tokens visible."""
    return chat.render(_SAMPLE) if chat.templated else chat.decode_all(chat.conversation(_SAMPLE)[0])


def _named(chat: Chat, token: int) -> dict[str, Any]:
    return {"id": token, "token": str(chat.tokenizer.convert_ids_to_tokens(token))}


def _lines(result: dict[str, Any]) -> list[str]:
    """The result in plain words."""
    facts = result["template"]
    lines = [f"{result['model']}: {'can be trained' if result['fit'] else 'cannot be trained as it is'}"]
    if facts is not None:
        told = {
            "template": "a chat template" if facts["templated"] else "none: text as it is",
            "several turns": "extend what stood before" if facts["append_only"] else "rewrite what stood before",
            "reasoning": "kept in earlier turns" if facts["keeps_reasoning"] else "dropped from earlier turns",
            "a reply": "is closed by an end token" if facts["ends_turns"] else "is not closed by the template",
            "the prompt": "opens <think>" if facts["opens_think_tag"] else "opens no thinking tag",
            "two tool results": {"one turn": "in one turn", "separate turns": "in a turn each"}.get(
                facts["parallel_tools"], f"are {facts['parallel_tools']}"
            ),
            "no tools": "is an empty list of tools" if facts["empty_tools"] else "differs from an empty list of tools",
            "system message": facts["system"],
            "begin, end": f"{facts['begins']} begin, {facts['ends']} end around a question and its reply",
            "ends": ", ".join(f"{one['token']} ({one['id']})" for one in result["ends"]),
            "pad": _pad(result),
        }
        lines += [f"  {name:<17} {text}" for name, text in told.items()]
        lines += ["  one exchange      " + repr(result["example"])]
    lines += [f"problem: {text}" for text in result["problems"]]
    return lines + [f"note: {text}" for text in result["findings"]]


def _pad(result: dict[str, Any]) -> str:
    pad = result["pad"]
    if pad is None:
        return "none named, and none needed"
    shared = "; it is an end too, which is fine: masks come from lengths" if pad in result["ends"] else ""
    return f"{pad['token']} ({pad['id']}){shared}"
