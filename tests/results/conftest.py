from hypothesis import settings

# Speed is measured by the benchmarks; a slow machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
