"""A recipe from parts: the keys of a method's constructor beside the run's options, as one signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from inspect import Parameter
from types import ModuleType
from typing import Annotated, Any, get_origin, get_type_hints

from guerdon.keys import key_of
from guerdon.method import Method
from guerdon.run import Options, Run

Build = Callable[[Method, Options, Mapping[str, Any]], Run]
"""(method, options, the recipe's further arguments) -> run."""


def compose(
    constructor: Callable[..., Method],
    module: ModuleType,
    build: Build,
    further: Collection[Parameter] = (),
    without: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
) -> Callable[..., Run]:
    """A function of the options (but those in `without`), the `further` parameters and the constructor's settings.

    A setting with the name of an option is fed from it. Settings that are no plain values keep their default.
    Defaults are taken from, first to last: `DEFAULTS` of the method's file, `defaults`, and the parameter itself.
    """
    options = [parameter for parameter in option_parameters() if parameter.name not in without]
    changed = {**(defaults or {}), **getattr(module, "DEFAULTS", {})}
    parameters = [_with_default(p, changed) for p in (*options, *further, *setting_parameters(constructor))]
    unknown = changed.keys() - {p.name for p in parameters}
    if unknown:
        raise ValueError(f"{module.__name__}: DEFAULTS names {sorted(unknown)}, which the recipe does not take")
    names = [p.name for p in options]
    taken = [p.name for p in inspect.signature(constructor, eval_str=True).parameters.values() if key_of(p) is not None]

    def recipe(**given: Any) -> Run:
        bound = signature.bind(**given)
        bound.apply_defaults()
        values = bound.arguments
        chosen = Options(**{name: values[name] for name in names})
        settings = {name: values.get(name, getattr(chosen, name, None)) for name in taken}
        return build(constructor(**settings), chosen, {p.name: values[p.name] for p in further})

    signature = inspect.Signature(parameters, return_annotation=Run)
    recipe.__signature__ = signature  # type: ignore[attr-defined]
    recipe.__name__ = recipe.__qualname__ = constructor.__name__
    recipe.__module__ = module.__name__
    recipe.__doc__ = f"{module.CARD.name}. {module.CARD.summary}\n\n{inspect.getdoc(constructor) or ''}"
    return recipe


def option_parameters() -> list[Parameter]:
    """The fields of `Options` as keyword-only parameters, each with its line of help."""
    hints = get_type_hints(Options)
    return [
        Parameter(
            f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=Annotated[hints[f.name], f.metadata["help"]]
        )
        for f in fields(Options)
    ]


def setting_parameters(constructor: Callable[..., Method]) -> list[Parameter]:
    """A constructor's parameters that a command line can give and that are no option, as keyword-only ones."""
    found = inspect.signature(constructor, eval_str=True).parameters.values()
    options = {f.name for f in fields(Options)}
    return [_explained(p) for p in found if key_of(p) is not None and p.name not in options]


SETTINGS = {
    "clip_low": "how far below 1 a probability ratio may profitably fall",
    "clip_high": "how far above 1 a probability ratio may profitably rise",
    "low": "smallest weight of a token, a bound on its probability ratio; 0 is off",
    "high": "largest weight of a token, a bound on its probability ratio",
    "dual_clip": "bound on the loss where the advantage is negative, more than 1 (default: none)",
    "beta": "strength of the pull towards the starting policy; 0 is off",
    "eps": "added to a group's deviation before dividing by it",
    "epochs": "passes over each batch",
    "minibatches": "gradient steps per pass",
    "gamma": "discount per token",
    "lam": "GAE: 1 trusts returns alone, 0 the value model alone",
    "value_clip": "how far a value may profitably move in an update; none: unlimited",
    "value_lr": "learning rate of the value model (default: the policy's)",
    "overlong_buffer": "tokens before the limit over which a length penalty grows; 0 is off",
    "factor": "the length penalty at the limit",
    "smoothing": "share of pairs whose preference is taken to be wrong",
    "level": "log-ratios of a completion are summed over its tokens, or averaged",
    "margins": "the better reply should win by its pair's own margin",
    "centring": "weight of the squared sum of both scores, which keeps scores around 0",
    "frozen_trunk": "train the heads alone",
    "cap": "largest weight trainer / sampler of a token",
}
"""The line of help of settings that several methods share; a constructor's own `Annotated` goes before it."""


def _explained(parameter: Parameter) -> Parameter:
    text, kind = SETTINGS.get(parameter.name), parameter.annotation
    if text and get_origin(kind) is not Annotated:
        kind = Annotated[kind, text]
    return parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind)


def _with_default(parameter: Parameter, changed: Mapping[str, Any]) -> Parameter:
    return parameter.replace(default=changed[parameter.name]) if parameter.name in changed else parameter
