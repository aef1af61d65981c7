"""The shipped tiny policy: a character-level Llama that adds small numbers, badly enough to leave room for learning."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("tiny_policy")
"""A plain Hugging Face folder; its README.md says how it was made."""
