"""What a memory may forget: scores over all nodes as arrays, a decision, and a pass that takes everything along.

A policy scores (`policies`), a limit decides (`limits`), a pass removes and reports (`passes`). The same policies run
over a graph's nodes and over flat turns: both are `states.States`.
"""
