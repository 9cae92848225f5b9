"""All problems and contenders: importing the modules that enter them is all that it takes."""

import benchmarks.race.contenders
import benchmarks.race.logistic_contenders
import benchmarks.race.logistic_problems
import benchmarks.race.online_contenders
import benchmarks.race.online_problems
import benchmarks.race.problems
import benchmarks.race.scale_contenders
import benchmarks.race.scale_problems  # noqa: F401
