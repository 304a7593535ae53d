"""Studies on more than one machine: real worker processes, a real S3 protocol."""
