"""The parts of the hybrid memory `palimpsest`: what a question asks for, vectors, entities, scores, and retention."""
