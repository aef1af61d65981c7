"""Methods against each other under parity: same initial weights, task order, evaluation, decoding limits and budget.

base      the comparison as a value: arms, what they share, how much they may use
paced     a run that is looked at on the way and stops at its budget
jobs      training one arm on one seed, evaluating the start; what is left in the folder
worker    a process that does jobs
crew      the processes, and what they are told
results   figures over seeds: intervals, paired differences, curves
page      report.html
"""
