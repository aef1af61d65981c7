"""What several commands take and give, in the words of the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on the last line.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Temperature = Annotated[float | None, typer.Option(min=0.0, help="0 is greedy (default: as trained, or 1).")]
MaxNewTokens = Annotated[int | None, typer.Option(min=1, help="Longest completion (default: as trained, or 16).")]
Seed = Annotated[int, typer.Option(help="Seeds the samples.")]
Model = Annotated[str, typer.Argument(help="A run folder, tiny, smollm2-135m, a model folder, or a hub name.")]

Result = dict[str, Any]
"""What `--json` prints."""
