"""What users construct: thin scikit-learn estimators over families, passes and models."""
