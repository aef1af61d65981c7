"""The evaluation protocol: models that are compared are asked the same, in the same way, and judged alike.

One `Protocol` is shared by all of them; what each decode said is kept (`Decode`), and every number is computed from
what was kept. After "RLVR tax" (arXiv:2509.21882): parity of budgets, side effects of training, contamination.

stance       whether a reply declines to answer, and how sure it says it is
base         `Protocol`, `Decode`, `Evaluated`, and what versions they carry
collect      decoding all items under a protocol
store        decodes on disk
metrics      numbers of one model: avg@m, pass@k, maj@k, attempts, calibration, diversity
paired       numbers of two models on the same items: differences, shared accuracy
robustness   how much a judge's wording decides; whether a set is known by heart
"""
