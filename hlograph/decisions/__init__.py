"""Decision processes: states offer actions, an action leads to a state, a state has a size.

Passes, single rewrites, fusion, and plans for time are four cases of one thing
(``hlograph.decisions.process.Process``). Environments, searches and policies are written over it.
"""
