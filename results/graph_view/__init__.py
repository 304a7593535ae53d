"""An interactive picture of a memory graph: one HTML file that opens from disk and needs no network."""
