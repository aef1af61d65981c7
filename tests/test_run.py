"""What a run refuses before anything is loaded."""

import pytest

from guerdon.methods.ppo import ppo
from guerdon.rewards.base import PerEpisode
from guerdon.run import Options, Run
from guerdon.tasks.builtin import arithmetic


def run(*rewards, method=None, **options):
    return Run(method or ppo(), Options(**options), arithmetic(1), rewards=rewards)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_grad_norm": -1.0}, "max_grad_norm is -1.0; expected at least 0"),
        ({"weight_decay": -0.1}, "weight_decay is -0.1"),
        ({"warmup": -1}, "warmup is -1"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0; expected at least 1"),
        ({"tokens_per_micro_batch": -1}, "tokens_per_micro_batch is -1; expected at least 0"),
    ],
)
def test_options_out_of_their_range_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        Options(**options)


def test_two_rewards_of_one_name_are_refused_because_one_would_be_lost():
    one, other = (PerEpisode("score", lambda e, value=value: value) for value in (0.0, 1.0))
    with pytest.raises(ValueError, match="several rewards are called 'score'"):
        run(one, other)


def test_more_minibatches_than_groups_are_refused_because_steps_would_be_missing():
    with pytest.raises(ValueError, match="minibatches is 4 and prompts_per_step 3"):
        run(method=ppo(minibatches=4), prompts_per_step=3)
    assert run(method=ppo(minibatches=4), prompts_per_step=4).method.minibatches == 4
