"""`guerdon model average`: several models of one start as one, in their weights, and whether that is a good idea."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.commands.output import say
from guerdon.commands.policy import model_name, quieten

if TYPE_CHECKING:
    from guerdon.evaluation.pairs import Rank
    from guerdon.models.load import Policy


def average(models: Sequence[str], out: str, weights: str | None, data: str | None) -> dict[str, Any]:
    """Write the average of MODELS to the folder `out`, print how far they are apart and, with pairs to rank, how good
    each is, the mean of their predictions, and their average; and return it."""
    quieten()
    from guerdon.models.lora import merged
    from guerdon.models.reward import load_any
    from guerdon.models.soup import average_models, distance

    folder, shares = _free(out), _numbers(weights, len(models))
    loaded = [load_any(model_name(name), dtype="float32", device="cpu", end_token=None) for name in models]
    made = average_models(loaded, shares)
    states = [merged(one.module).state_dict() for one in loaded]
    apart = [distance(one, other) for one, other in combinations(states, 2)]
    result: dict[str, Any] = {
        "out": str(folder),
        "models": list(models),
        "weights": list(shares or [1 / len(models)] * len(models)),
        "apart": max(apart, default=0.0),
        "accuracy": _accuracies(loaded, made, shares, data) if data else None,
    }
    _write(made, folder)
    for line in _lines(result):
        print(line)
    say(f"written to {folder}")
    return result


def _free(out: str) -> Path:
    folder = Path(out).expanduser()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already and is not empty; choose another --out")
    return folder


def _numbers(weights: str | None, count: int) -> list[float] | None:
    if weights is None:
        return None
    try:
        return [float(part) for part in weights.split(",")]
    except ValueError:
        raise ValueError(f"weights is {weights!r}; expected {count} numbers, such as 0.5,0.3,0.2") from None


def _write(made: Policy, folder: Path) -> None:
    from guerdon.method import Heads
    from guerdon.models.load import save_policy
    from guerdon.models.reward import names_of, save

    if _scores(made):
        save(made, Heads(names_of(made.module)), folder)
    else:
        save_policy(made.module, made.tokenizer, folder)


def _scores(model: Policy) -> bool:
    return hasattr(model.module, "score")


def _accuracies(loaded: Sequence[Policy], made: Policy, shares: Sequence[float] | None, data: str) -> dict[str, Any]:
    """Intervals of the accuracy on the pairs of a file, of everything that could be used as a reward."""
    from guerdon.chat import Chat
    from guerdon.evaluation.evaluate import as_dict
    from guerdon.evaluation.pairs import rank_pairs
    from guerdon.recipes.data import groups, preference

    if not _scores(made):
        raise ValueError(f"{made.name} is no reward model, so it cannot rank the pairs of {data}; leave out --data")
    pairs = groups(data, preference, Chat(made.tokenizer))
    ranks = [_rank(one) for one in loaded]
    parts = shares or [1 / len(ranks)] * len(ranks)

    def together(batch: Any) -> Any:
        return sum(share * rank(batch) for share, rank in zip(parts, ranks, strict=True))

    def accuracy(rank: Rank) -> dict[str, Any]:
        return dict(as_dict(rank_pairs(pairs, rank).accuracy))

    return {
        "members": [accuracy(rank) for rank in ranks],
        "predictions": accuracy(together),
        "average": accuracy(_rank(made)),
    }


def _rank(model: Policy) -> Rank:
    from guerdon.engines.local import LocalEngine
    from guerdon.evaluation.pairs import by_head
    from guerdon.likelihoods.scores import Scores
    from guerdon.method import Heads
    from guerdon.models.reward import names_of

    names = names_of(model.module)
    return by_head(LocalEngine(model.module, Scores(Heads(names))), names[0])


def _lines(result: dict[str, Any]) -> list[str]:
    """The result in plain words."""
    shown = [f"{weight:.3g} {name}" for weight, name in zip(result["weights"], result["models"], strict=True)]
    lines = [f"average of {', '.join(shown)}", f"farthest apart: {result['apart']:.3g} of their size"]
    accuracy = result["accuracy"]
    if accuracy is None:
        return lines
    told = [*zip(result["models"], accuracy["members"], strict=True)]
    told += [("the mean of predictions", accuracy["predictions"]), ("the average", accuracy["average"])]
    width = max(len(name) for name, _ in told)
    return [*lines, *(f"{name:{width}}  {a['mean']:.3f} [{a['low']:.3f}, {a['high']:.3f}]" for name, a in told)]
