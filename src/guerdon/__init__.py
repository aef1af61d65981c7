"""guerdon: reinforcement learning of language models from any reward."""

import os

# Tensors above 2 MB in huge pages: a sampler that streams its weights is a fifth faster, and far fewer pages fault.
# torch reads it at its first allocation, so it has to be there before; a value that the user set stays.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

__version__ = "0.1.0"
