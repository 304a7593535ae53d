"""HippoRAG 2: a graph of phrases and passages that a question's facts are spread over (facts on GAAMA, section 14)."""
