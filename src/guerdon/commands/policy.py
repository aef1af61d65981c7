"""MODEL on the command line: a run folder stands for the policy that it trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.samplers.base import Sampler, Sampling


def model_name(name: str) -> str:
    """What to load for MODEL: of a run folder its `model/`, else the policy in its last whole checkpoint."""
    folder = Path(name).expanduser()
    if not (folder / "run.json").is_file():
        return name
    from guerdon.checkpoint import complete
    from guerdon.run import RunFolder

    run = RunFolder(folder)
    trained = [run.model, *(path / "policy" / "model" for path in reversed(complete(run.checkpoints)))]
    found = next((path for path in trained if (path / "config.json").is_file() or _adapters(path)), None)
    if found is None:
        raise ValueError(f"{folder} is a run without a trained model or a checkpoint; go on with it: --resume {folder}")
    return str(found)


def _adapters(path: Path) -> bool:
    return (path / "adapter_config.json").is_file()


def trained_options(name: str) -> dict[str, Any]:
    """The options that a run folder was made with; empty for any other MODEL."""
    folder = Path(name).expanduser()
    if not (folder / "run.json").is_file():
        return {}
    from guerdon.run import RunFolder

    return dict(RunFolder(folder).read().get("options") or {})


@dataclass(frozen=True)
class Speaker:
    """A loaded policy that can be asked for completions."""

    samplers: dict[str, Sampler]
    chat: Chat
    how: Sampling


def load_speaker(name: str, temperature: float | None, max_new_tokens: int | None) -> Speaker:
    """Load MODEL and say how to sample from it: as it was trained, where it is a run."""
    from guerdon.chat import Chat
    from guerdon.models.load import load_policy
    from guerdon.samplers.base import Sampling
    from guerdon.samplers.local import LocalSampler

    quieten()
    trained = trained_options(name)
    policy = load_policy(model_name(name), end_token=trained.get("end_token"))
    stop = trained.get("stop")
    how = Sampling(
        max_tokens=max_new_tokens or trained.get("max_new_tokens") or 16,
        temperature=trained.get("temperature", 1.0) if temperature is None else temperature,
        stop_tokens=policy.stop_tokens,
        stop_strings=(stop,) if stop else (),
        **{name: trained[name] for name in ("top_p", "top_k", "min_p") if name in trained},
    )
    chat = Chat(policy.tokenizer, template=trained.get("chat_template"))
    return Speaker({"policy": LocalSampler(policy.module, policy.tokenizer)}, chat, how)


def quieten() -> None:
    """No progress bars of other libraries: ours is on the screen."""
    from transformers.utils import logging

    logging.disable_progress_bar()
