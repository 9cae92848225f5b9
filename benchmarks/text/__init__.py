"""The text classes beside scikit-learn's: speed, memory, and a stream of JSON lines."""
