"""Fifteen people, their height in metres and their weight in kilograms.

The table of Chrupała's lecture on linear models (2012): a line in height³ fits better than in height.
"""

HEIGHT = (1.47, 1.50, 1.52, 1.55, 1.57, 1.60, 1.63, 1.65, 1.68, 1.70, 1.73, 1.75, 1.78, 1.80, 1.83)
WEIGHT = (52.2, 53.1, 54.4, 55.8, 57.2, 58.5, 59.9, 61.2, 63.0, 64.4, 66.2, 68.0, 69.9, 72.1, 74.4)
