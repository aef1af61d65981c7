"""Averages of weights: exact for copies and for one of several, of products under adapters, refused for strangers."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

from guerdon.method import Heads
from guerdon.models.load import Policy, load_policy
from guerdon.models.lora import Lora, apply, merged
from guerdon.models.reward import with_heads
from guerdon.models.soup import average, average_models, distance
from tests.models.small import model, saved, tokenizer


def net(seed: int = 0, scale: float = 0.05) -> nn.Sequential:
    """One of several that started as one: seed 0 is the start."""
    torch.manual_seed(7)
    made = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).double()
    numbers = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for one in made.parameters() if seed else ():
            one += scale * torch.randn(one.shape, generator=numbers, dtype=one.dtype)
    return made


def merged_net(members, weights=None) -> nn.Sequential:
    made = net()
    made.load_state_dict(average([one.state_dict() for one in members], weights))
    return made


X = torch.randn(50, 8, generator=torch.Generator().manual_seed(1)).double()


@pytest.mark.parametrize("count", [1, 3, 7])
def test_copies_average_to_the_model_exactly(count):
    member = net(3)
    assert torch.equal(merged_net([copy.deepcopy(member) for _ in range(count)])(X), member(X))


def test_a_weight_of_one_is_that_member_bit_for_bit_and_order_does_not_matter():
    members = [net(1), net(2), net(3)]
    one_hot = average([one.state_dict() for one in members], [0.0, 1.0, 0.0])
    assert all(torch.equal(one_hot[name], tensor) for name, tensor in members[1].state_dict().items())
    torch.testing.assert_close(merged_net(members)(X), merged_net(members[::-1])(X), atol=1e-12, rtol=0)


def test_weights_count():
    states = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([5.0, 4.0])}]
    torch.testing.assert_close(average(states, [0.75, 0.25])["w"], torch.tensor([2.0, 2.5]))


def test_of_a_linear_model_the_average_is_the_mean_of_predictions():
    members = [nn.Linear(8, 1).double() for _ in range(4)]
    made = nn.Linear(8, 1).double()
    made.load_state_dict(average([one.state_dict() for one in members], related=-1))
    torch.testing.assert_close(made(X), torch.stack([one(X) for one in members]).mean(0))


def test_otherwise_they_differ_by_the_square_of_how_far_members_are_apart():
    @torch.no_grad()
    def gap(eps):
        members = [net(seed, eps) for seed in (1, 2, 3)]
        return (merged_net(members)(X) - torch.stack([one(X) for one in members]).mean(0)).abs().max()

    assert float(gap(0.01) / gap(0.005)) == pytest.approx(4, rel=0.05)


def test_constants_of_output_biases_average_and_change_no_difference():
    members, moved = [net(1), net(2)], [net(1), net(2)]
    with torch.no_grad():
        for one, constant in zip(moved, (3.0, -1.0), strict=True):
            one[2].bias += constant
    torch.testing.assert_close(merged_net(moved)(X), merged_net(members)(X) + 1.0)


def test_sums_are_taken_in_float32_and_written_in_the_models_own_type():
    big, small = 256.0, 257.0  # bfloat16 has no number between 256 and 258, and rounds their sum of halves
    states = [{"w": torch.tensor([v, v], dtype=torch.bfloat16)} for v in (big, big + 2, big + 2, big)]
    assert average(states)["w"].dtype == torch.bfloat16
    assert average(states)["w"].tolist() == [small - 1] * 2  # 257 is written as 256, the even neighbour
    exact = [{"w": one["w"].float()} for one in states]
    assert average(exact)["w"].tolist() == [small] * 2


def test_whole_numbers_are_kept_and_must_agree():
    states = [{"step": torch.tensor(3)}, {"step": torch.tensor(3)}]
    assert average(states)["step"].item() == 3
    with pytest.raises(ValueError, match="step holds whole numbers"):
        average([*states, {"step": torch.tensor(4)}])


@pytest.mark.parametrize(
    ("states", "weights", "message"),
    [
        ([], None, "no model"),
        ([{"w": torch.ones(2)}], [0.5], "sum to 1"),
        ([{"w": torch.ones(2)}] * 2, [1.5, -0.5], "at least 0"),
        ([{"w": torch.ones(2)}] * 2, [1.0], "1 weights for 2"),
        ([{"w": torch.ones(2)}, {"v": torch.ones(2)}], None, "architecture"),
        ([{"w": torch.ones(2)}, {"w": torch.ones(3)}], None, "vocabulary"),
        ([{"q.lora_A.default.weight": torch.ones(2)}], None, "adapter"),
    ],
)
def test_what_has_no_average_is_refused(states, weights, message):
    with pytest.raises(ValueError, match=message):
        average(states, weights)


def test_strangers_are_refused_and_are_far_apart():
    def fresh(seed):
        torch.manual_seed(seed)
        return nn.Linear(64, 16).state_dict()

    with pytest.raises(ValueError, match=r"models 0 and 1 did not start from one model.*weight"):
        average([fresh(0), fresh(1)])
    assert distance(fresh(0), fresh(1)) == pytest.approx(2**0.5, abs=0.1)
    assert distance(fresh(0), fresh(0)) == 0
    assert distance(net().state_dict(), net(1).state_dict()) < 0.5


def test_adapters_are_averaged_as_products():
    def adapted(seed):
        module = apply(model("llama"), Lora(rank=2, alpha=4))
        torch.manual_seed(seed)
        for name, one in module.named_parameters():
            if "lora_" in name:
                one.data.normal_(0, 0.05)
        return Policy(module, tokenizer(), f"m{seed}", "")

    members = [adapted(1), adapted(2)]
    found = average_models(members).module.state_dict()
    whole = [merged(one.module).state_dict() for one in members]
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, (whole[0][name] + whole[1][name]) / 2)
    assert any("lora" in name for name in members[0].module.state_dict())


def test_other_words_and_other_heads_are_refused(tmp_path: Path):
    start = str(saved(tmp_path / "start"))
    one = with_heads(load_policy(start), Heads())
    with pytest.raises(ValueError, match="another vocabulary"):
        average_models([one, Policy(one.module, tokenizer(pad_token="<new>"), "odd", "")])
    with pytest.raises(ValueError, match="has the heads"):
        average_models([one, with_heads(load_policy(start), Heads(("quality",)))])
    wide = model("llama", hidden_size=64, head_dim=16)
    strangers = [with_heads(Policy(copy.deepcopy(wide), tokenizer(), "s", ""), Heads(), seed) for seed in (0, 1)]
    with pytest.raises(ValueError, match=r"score\.weight"):
        average_models(strangers)
