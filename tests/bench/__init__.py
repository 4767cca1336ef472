"""The benches: one table from one run on this machine (`make bench`)."""
