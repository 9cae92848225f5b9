"""Generative classifiers and mixtures: class densities and priors."""
