"""Ways to reword a prompt and its replies that leave alone which reply is better (Wu et al. 2025, arXiv:2503.11751)."""
