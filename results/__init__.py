"""Tables on disk, metrics, statistics and the tables of a paper. What a user keeps is written here."""
