"""Testbeds: small worlds with known truth, on which any method is trained through the real parts in seconds.

    from guerdon.testbeds.arm import Budget, run_arm, train_arm
    from guerdon.testbeds.trees import FOUR, strings

    testbed = strings(winning=FOUR)                      # 4 of 64 strings win; every reply can be listed
    budget = Budget(sampled_tokens=30_000, prompts=4, samples=16)
    measured = run_arm(rover(minibatches=4), testbed, seed=0, budget=budget, lr=0.1)
    measured.figures["modes"], measured.budget["sampled_tokens"]

`run_arm(method, testbed, seed, budget, lr=...)` gives the `Measured` of a claim. Every arm of a seed begins with the
same weights, meets the same tasks in the same order with the same random numbers, and stops with the update that uses
up the same number of sampled tokens. `train_arm` takes the same and gives all there is to know: the policy, its start,
the learning `curve` and the `log` of every update. Both take `until=lambda point: point.figures["right"] >= 0.9` to
stop at matched success (with `Budget(points=50)` to look often), `noise` for what is wrong with a sampler (`swapped`),
`roles={"ref": model}` for roles that begin elsewhere, and `start` for another initial policy. Figures are explained in
`figures`, and are exact where a testbed is `enumerable`.

A `Testbed` (`base`) is tasks over `Symbols`, a `truth(task, text)`, perhaps other `rewards` to learn from, and
`policy(seed)`. A world of your own is one call of `Testbed(...)`; add `traits` to have more measured. Policies are
`TabularPolicy` (a row of logits per prompt and prefix, with a value table beside it for methods that need one) and
everything else that is a `Model`; `StepSampler` and the real `Autoregressive` likelihood work on all of them. `Oracle`
(`exact`) lists all replies with their probabilities: `oracle_of(testbed).gradient(model)` is the exact policy gradient.

Families, each in its file: tables in `trees` (several ways to win), `bandits`, `locks` (long replies, steps, hints),
`shortcuts` (flawed positives), `modes` (thinking or not), `doubt` (abstaining, stated confidence), `lengths`,
`distance.hidden` (dense rewards); small transformers, able and unsure (`beginner`), in `words`, `sums` (working, hidden
operands), `routes` (several ways), `reference` (rewards by likelihood), `distance.additive`. `chance.noisy` makes a
verifier err at known rates, `sampler.swapped` a sampler; `gradients` compares a method's gradient with the exact one.
What methods of preferences and reward models learn from is no rollout, and no arm: make their `Dataset` by hand, as
`teach.taught` does for demonstrations.
"""
