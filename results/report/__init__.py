"""The report of a run, or of two runs compared: one HTML file that needs nothing but itself."""
