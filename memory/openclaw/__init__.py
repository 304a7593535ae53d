"""OpenClaw's memory search over raw transcripts (github.com/openclaw/openclaw, folder src/memory)."""
