"""Tables in files: CSV, Parquet, JSON lines, svmlight and Vowpal Wabbit, read in parts."""
