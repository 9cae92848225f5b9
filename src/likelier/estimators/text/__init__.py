"""Documents as rows of numbers: scikit-learn's vectorizers, with the work done in the native core."""
