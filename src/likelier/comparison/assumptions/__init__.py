"""Whether data support what models assume: by how much they do not, and in plain words.

With enough rows every test finds something. So a departure counts if it is more than chance (a test at the
level 0.01, corrected for how many there are) and also large enough to matter (an effect size that does not
grow with the rows).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from likelier.comparison.assumptions.columns import Pair, dispersions_of, pairs_of, shapes_of
from likelier.comparison.assumptions.covariances import covariance_spread_of, joint_of
from likelier.comparison.assumptions.linearity import Linearity, linearity_of, residuals_of
from likelier.comparison.assumptions.sample import Sample, drawn
from likelier.comparison.assumptions.verdicts import Evidence, Verdict, column_sentences, said, verdict
from likelier.comparison.models import ModelTraits, classifiers, regressions
from likelier.comparison.rows import Rows
from likelier.display import Table, html
from likelier.estimators.catalogue import NO_COLUMNS, candidates

__all__ = ["Checks", "Pair", "Verdict", "check"]


@dataclass(frozen=True, kw_only=True)
class Checks(Evidence):
    """The result of `Comparison.checks`: what was found about a table, and what it means for each model.

    Prints as a sentence for each model.
    """

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on each model, by its name in the comparison."""
        known = [each for _, each in candidates(numbers=self.regression) if not each.on_request]
        return {each.name: verdict(each, self) for each in (NO_COLUMNS[self.regression], *known)}

    @property
    def regression(self) -> bool:
        """Whether the target consists of numbers rather than classes."""
        return self.shapes is None

    @cached_property
    def columns(self) -> dict[str, str]:
        """A sentence on each numeric column, by name."""
        return column_sentences(self)

    def dependences(self, most: int = 5) -> dict[Pair, str]:
        """The pairs of columns that depend most on each other within a class.

        Parameters
        ----------
        most : int, default=5
            The maximum number of pairs.

        Returns
        -------
        dict of Pair to str
            A sentence for each pair.
        """
        return {} if self.pairs is None else {pair: said(pair) for pair in self.pairs.strongest(most)}

    def of(self, model: str, traits: ModelTraits | None = None) -> Verdict:
        """The verdict on a model.

        Parameters
        ----------
        model : str
            The name of the model in the comparison.
        traits : ModelTraits, default=None
            What the model assumes, to find a verdict for a model of another name.

        Returns
        -------
        Verdict
            What the model assumes, whether the data support it, and why.
        """
        if model in self.verdicts:
            return self.verdicts[model]
        for candidate_model in regressions() if self.regression else classifiers():
            if candidate_model.traits == traits:
                return self.verdicts[candidate_model.name]
        return Verdict("", "not checked", "what it assumes is not known")

    def sentence(self, model: str, traits: ModelTraits | None = None) -> str:
        """What a model assumes, and whether the data support it, as a sentence.

        Parameters
        ----------
        model : str
            The name of the model in the comparison.
        traits : ModelTraits, default=None
            What the model assumes, to find a verdict for a model of another name.

        Returns
        -------
        str
            The sentence.
        """
        found = self.of(model, traits)
        if not found.assumes:
            return f"{model}: {found.why}."
        return f"{model} assumes {found.assumes}. {found.verdict.capitalize()}: {found.why}."

    def __str__(self) -> str:
        return "\n".join([*(self.sentence(model) for model in self.verdicts), *self.notes])

    def _repr_html_(self) -> str:
        rows = [(model, each.verdict, each.assumes, each.why) for model, each in self.verdicts.items()]
        table = Table([("model", "verdict", "assumes", "because"), *rows], left=4)
        return html([table, *self.dependences().values(), *self.columns.values(), *self.notes])


def check(rows: Rows, classes: NDArray[Any] | None, seed: int = 0) -> Checks:
    """Look at the columns within classes; of a target of numbers (classes: None) at what a line leaves."""
    sample = drawn(rows, classes, seed)
    found = {"residuals": residuals_of(sample)} if classes is None else _of_classes(sample, seed)
    return Checks(
        names=sample.names,
        categories=sample.categories,
        texts=tuple(column.name for column in rows.of("text")),
        groups=sample.groups,
        sizes=sample.sizes,
        notes=(*sample.notes, *_narrowed(found.get("curvature"), len(sample.names))),
        **found,
    )


def _narrowed(curvature: Any, p: int) -> Iterator[str]:
    if isinstance(curvature, Linearity) and curvature.columns < p:
        yield f"linear models are tried on the {curvature.columns} columns of numbers that tell most"


def _of_classes(sample: Sample, seed: int) -> dict[str, Any]:
    counts = dispersions_of(sample)
    poisson, multinomial = (None, None) if counts is None else counts
    return {
        "shapes": shapes_of(sample),
        "joint": joint_of(sample),
        "pairs": pairs_of(sample),
        "spread": covariance_spread_of(sample),
        "curvature": linearity_of(sample, seed),
        "poisson": poisson,
        "multinomial": multinomial,
    }
