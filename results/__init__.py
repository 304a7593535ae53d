"""Tables on disk, metrics, statistics and the tables of a paper. The only package that writes what a user keeps."""
