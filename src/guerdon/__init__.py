"""guerdon: reinforcement learning of language models from any reward."""

__version__ = "0.1.0"
