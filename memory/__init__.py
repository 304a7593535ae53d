"""The memory core: conversations, the memory graph and the memory systems.

Plain Python over NetworkX and NumPy. Nothing here knows of Prefect, of files or of the network; models are reached
through the two protocols in `memory.models`.
"""
