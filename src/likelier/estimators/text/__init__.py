"""Documents as rows of numbers: scikit-learn's vectorisers, with the work done in the native core."""
