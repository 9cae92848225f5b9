"""Discriminative classifiers: losses minimised over rows, the perceptron."""
