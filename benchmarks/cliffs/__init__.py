"""Each drop-in class on many shapes of tables, beside scikit-learn's class of the same name."""
