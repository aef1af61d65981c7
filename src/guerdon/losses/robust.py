"""Minimising the loss of the worst of several groups: weighted group losses, and weights that follow them."""

from __future__ import annotations

import torch
from torch import Tensor


def group_losses(loss: Tensor, group: Tensor, share: Tensor, groups: int) -> Tensor:
    """L_g = (1 / |B|) sum over the batch's examples of group g of loss / share: unbiased for the group's mean loss.

    loss, group, share: of each of B examples drawn from the pooled data, [B]; group in 0..groups-1; share: the part
    N_g / N that its group has of all examples, in (0, 1]. A group that the batch lacks has 0. -> [groups]

    Shares 0.9 and 0.1, losses 0.2, 0.2, 0.2 of the first and 1.0 of the second: 0.166667 and 2.5.
    """
    return loss.new_zeros(groups).index_add(0, group, loss / share) / len(loss)


def exponentiated(alpha: Tensor, losses: Tensor, eta: float) -> Tensor:
    """alpha_g exp(eta L_g) / sum: a step of exponentiated-gradient ascent on the simplex (Sagawa et al. 2020, alg. 1).

    alpha: positive, summing to 1, [K]; losses: [K]; any eta >= 0 without overflow. Shifted losses give equal weights.
    alpha (.5, .5), losses (0.166667, 2.5), eta 0.1: (0.441930, 0.558070).
    """
    return torch.softmax(alpha.log() + eta * losses, dim=0)
