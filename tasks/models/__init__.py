"""Chat models, embedders, and the one gateway through which every call to them goes."""
