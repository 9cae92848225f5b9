"""The catalogue of estimators: one record for each, from which all lists of models are derived.

Public names (`likelier.__init__`), the candidates of `likelier.compare`, the names on the command line, the
saved forms and the table of assumptions all come from `MODELS`. A new estimator is entered here, and its
import for type checkers in `likelier/__init__.py`. Nothing is imported until a class is asked for, so that
`likelier --help` can list the models without loading NumPy.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, NamedTuple

Kind = Literal["generative", "discriminative", "regression", "transformer", ""]

LINEAR, QUADRATIC, ANY_FORM = "linear", "quadratic", "any form"
WIDEST = 1000  # columns that have covariances, or a choice of families each
GAPPY = 200  # of those that have covariances, where cells are missing: each pattern of gaps inverts them
KERNELS = 400_000  # cells that are kept: each answer is a sum over all of them


class Saved(NamedTuple):
    """What a model file of an estimator holds: names of records in `saving/schema.py`, any one of each."""

    model: tuple[str, ...] = ()  # (): the estimator is all hyper-parameters, or has a format of its own
    densities: tuple[str, ...] = ()  # (): the model has none, or any


class Candidate(NamedTuple):
    """An estimator as `likelier.compare` tries it: its settings, its input and its assumptions."""

    name: str
    prepare: str  # a function of comparison/prepare.py
    models: str  # the distribution, or what of it
    assumes: str  # in words, after "assumes"
    checks: tuple[str, ...]  # functions of comparison/assumptions/verdicts.py
    independent: str = "no"  # which columns are taken to be independent
    boundary: str = LINEAR
    settings: Mapping[str, Any] = {}
    online: bool = False  # learns row by row: mistakes over time are worth a look
    most_columns: int | None = None  # beyond which it would take too long
    most_gappy: int | None = None  # the same where numbers are missing
    most_cells: int | None = None  # to learn from, beyond which it gets a sample of the rows
    on_request: bool = False  # takes part where it is named


class ModelInfo(NamedTuple):
    """All that the rest of likelier knows of an estimator without loading it."""

    name: str  # of the class
    module: str
    kind: Kind
    command: str | None = None  # its name on the command line; None if it is not trained there
    saved: Saved | None = None  # None: it cannot be saved
    candidates: tuple[Candidate, ...] = ()
    public: bool = True  # whether it is a name of the package
    cls: Any = None  # the class itself, of models from elsewhere

    def load(self) -> Any:
        """The class."""
        return self.cls if self.cls is not None else getattr(import_module(self.module), self.name)


_GENERATIVE = "likelier.estimators.generative"
_DISCRIMINATIVE = "likelier.estimators.discriminative"
_NAIVE_BAYES = f"{_GENERATIVE}.naive_bayes"
_TEXT = "likelier.estimators.text.vectorizers"
_BAYES, _BLEND, _WEIGHTS, _LINES = (
    ("model.Bayes",),
    ("model.Blend",),
    ("model.Weights",),
    ("model.Lines",),
)

_INDEPENDENT = "that columns are independent within each class"
_SHARE = "p(C | x), log odds linear in x"
_LOG_ODDS = "that the log odds of classes are linear in the columns, and nothing about their distribution"
_PLANE = "that a hyperplane separates the classes well, and nothing about their distribution"
_LINE = "that the target is linear in the columns, with errors of one variance, Gaussian for its intervals"
_OWN_COVARIANCE = "that each class is Gaussian with a covariance of its own"
_ONE_COVARIANCE = "that each class is Gaussian, all of them with one covariance"
_OF_ERRORS = ("straight", "even", "gaussian_errors")


def _naive(name: str, prepare: str, models: str, assumes: str, *checks: str, **more: Any) -> Candidate:
    """Naive Bayes: columns are independent in each class."""
    return Candidate(name, prepare, models, assumes, checks, independent="in each class", **more)


def _covaried(name: str, prepare: str, models: str, assumes: str, *checks: str, **more: Any) -> Candidate:
    """Gaussian classes, and mixtures of them."""
    limits = {"most_columns": WIDEST, "most_gappy": GAPPY}
    return Candidate(name, prepare, models, assumes, checks, **limits, **more)  # type: ignore[arg-type]


_LISTED = (
    ModelInfo(
        "NaiveBayes",
        f"{_GENERATIVE}.mixed_nb",
        "generative",
        "naive-bayes",
        Saved(("plan.PlannedBayes", "plan.WeightedBayes"), ("families.Mixed",)),
        (
            _naive(
                "NaiveBayes",
                "table",
                "a family for each column",
                f"{_INDEPENDENT}; which distribution each has, the data choose",
                "independent",
                boundary="as the families",
                most_columns=WIDEST,
            ),
            _naive(
                "NaiveBayes, weighted",
                "table",
                "a family and a weight for each column",
                "that class scores are sums over columns; their dependence is allowed for by weights",
                "independent_weighted",
                boundary="as the families",
                settings={"weighting": "discriminative"},
                most_columns=WIDEST,
            ),
        ),
    ),
    ModelInfo(
        "GaussianNB",
        _NAIVE_BAYES,
        "generative",
        "gaussian-nb",
        Saved(_BAYES, ("families.Diagonal",)),
        (
            _naive(
                "GaussianNB",
                "numbers",
                "Gaussian columns",
                "that every column is Gaussian in each class, and independent of the others there",
                "gaussian",
                "independent_numbers",
                boundary=QUADRATIC,
            ),
        ),
    ),
    ModelInfo(
        "BernoulliNB",
        _NAIVE_BAYES,
        "generative",
        "bernoulli-nb",
        Saved(_BAYES, ("families.Bernoulli",)),
        (
            _naive(
                "BernoulliNB",
                "booleans",
                "columns true or false",
                "that columns, made true or false, are independent within each class",
                "independent",
            ),
        ),
    ),
    ModelInfo(
        "CategoricalNB",
        f"{_GENERATIVE}.categorical_nb",
        "generative",
        "categorical-nb",
        Saved(_BAYES, ("families.Categories",)),
        (
            _naive(
                "CategoricalNB",
                "bins",
                "categories; numbers binned into deciles",
                "that columns, numbers cut into tenths, are independent within each class",
                "independent",
                boundary="linear in indicators",
            ),
        ),
    ),
    ModelInfo(
        "MultinomialNB",
        _NAIVE_BAYES,
        "generative",
        "multinomial-nb",
        Saved(_BAYES, ("families.Multinomial",)),
        (
            _naive(
                "MultinomialNB",
                "counts",
                "counts, given their sum",
                "that the counts of a row are independent draws, by the shares of its class",
                "multinomial",
            ),
        ),
    ),
    ModelInfo(
        "ComplementNB",
        _NAIVE_BAYES,
        "generative",
        "complement-nb",
        Saved(("model.Unweighed",), ("families.Complement",)),
        (
            _naive(
                "ComplementNB",
                "counts",
                "counts of all other classes",
                "that the counts of a row are independent draws, by shares that all other classes have in "
                "common",
                "multinomial",
            ),
        ),
    ),
    ModelInfo(
        "PoissonNB",
        _NAIVE_BAYES,
        "generative",
        "poisson-nb",
        Saved(_BAYES, ("families.Poisson",)),
        (
            _naive(
                "PoissonNB",
                "counts",
                "Poisson counts",
                "that counts are Poisson in each class, their variance being their mean, and independent",
                "poisson",
                "independent_counts",
            ),
        ),
    ),
    ModelInfo(
        "LinearDiscriminantAnalysis",
        f"{_GENERATIVE}.discriminant",
        "generative",
        "lda",
        Saved(
            ("model.LinearBayes",),
            ("families.Tied", "families.Spanned", "families.LinearOnly"),
        ),
        (
            _covaried(
                "LDA",
                "numbers_and_indicators",
                "Gaussian classes, one covariance",
                _ONE_COVARIANCE,
                "jointly_gaussian",
                "one_covariance",
                "no_indicators",
            ),
            _covaried(
                "LDA, shrunk",
                "numbers_and_indicators",
                "Gaussian classes, one shrunk covariance",
                f"{_ONE_COVARIANCE}, estimated from few rows",
                "jointly_gaussian",
                "one_covariance",
                "no_indicators",
                settings={"solver": "lsqr", "shrinkage": "auto"},
            ),
        ),
    ),
    ModelInfo(
        "QuadraticDiscriminantAnalysis",
        f"{_GENERATIVE}.discriminant",
        "generative",
        "qda",
        Saved(_BAYES, ("families.Full",)),
        (
            _covaried(
                "QDA",
                "numbers",
                "Gaussian classes, a covariance each",
                f"{_OWN_COVARIANCE}, and has the rows to tell it",
                "jointly_gaussian",
                "rows_for_covariances",
                boundary=QUADRATIC,
            ),
            _covaried(
                "QDA, shrunk",
                "numbers",
                "Gaussian classes, shrunk covariances",
                f"{_OWN_COVARIANCE}, estimated from few rows",
                "jointly_gaussian",
                boundary=QUADRATIC,
                settings={"solver": "eigen", "shrinkage": "auto"},
            ),
        ),
    ),
    ModelInfo(
        "MixtureDiscriminantAnalysis",
        f"{_GENERATIVE}.mixture_discriminant",
        "generative",
        "mda",
        Saved(_BLEND, ("families.Mixture",)),
        (
            _covaried(
                "MDA",
                "numbers",
                "a mixture of Gaussians for each class",
                "that each class is a mixture of a few Gaussians",
                "mixed_gaussians",
                boundary=ANY_FORM,
                settings={"random_state": 0},
            ),
        ),
    ),
    ModelInfo(
        "KernelDensityClassifier",
        f"{_GENERATIVE}.kernel_density",
        "generative",
        "kernel-density",
        Saved(_BAYES, ("families.Kernels",)),
        (
            Candidate(
                "KernelDensity",
                "numbers",
                "a kernel about every row",
                "that densities are smooth, and rows dense enough to show them",
                ("smooth", "rows_for_density"),
                independent="within a kernel",
                boundary=ANY_FORM,
                most_columns=WIDEST,
                most_cells=KERNELS,
            ),
        ),
    ),
    ModelInfo("GaussianMixture", f"{_GENERATIVE}.mixture", "generative", saved=Saved(_BLEND)),
    ModelInfo("Mixture", f"{_GENERATIVE}.mixture", "generative", saved=Saved(_BLEND)),
    ModelInfo("BayesClassifier", f"{_GENERATIVE}.bayes", "generative"),
    ModelInfo(
        "LogisticRegression",
        f"{_DISCRIMINATIVE}.logistic",
        "discriminative",
        "logistic-regression",
        Saved(_WEIGHTS),
        (Candidate("LogisticRegression", "design", _SHARE, _LOG_ODDS, ("linear",)),),
    ),
    ModelInfo(
        "LogisticRegressionCV",
        f"{_DISCRIMINATIVE}.logistic_cv",
        "discriminative",
        "logistic-regression-cv",
        Saved(("model.Tried",)),
        (
            Candidate(
                "LogisticRegressionCV",
                "design",
                _SHARE,
                _LOG_ODDS,
                ("linear",),
                on_request=True,
            ),
        ),
    ),
    ModelInfo(
        "LinearSVC",
        f"{_DISCRIMINATIVE}.linear_svc",
        "discriminative",
        "linear-svc",
        Saved(_WEIGHTS),
        (Candidate("LinearSVC", "design", "no distribution: a margin", _PLANE, ("parted",)),),
    ),
    ModelInfo(
        "Perceptron",
        f"{_DISCRIMINATIVE}.perceptron",
        "discriminative",
        "perceptron",
        Saved(("model.Weights", "model.Voted")),
        (
            Candidate(
                "Perceptron",
                "design",
                "no distribution: mistakes",
                _PLANE,
                ("parted",),
                settings={"weights": "average", "random_state": 0},
                online=True,
            ),
        ),
    ),
    ModelInfo(
        "SGDClassifier",
        f"{_DISCRIMINATIVE}.sgd",
        "discriminative",
        "sgd",
        Saved(_WEIGHTS),
        (
            Candidate(
                "SGDClassifier",
                "design",
                _SHARE,
                _LOG_ODDS,
                ("linear",),
                settings={"loss": "log_loss", "random_state": 0},
                online=True,
            ),
        ),
    ),
    ModelInfo(
        "OnlineClassifier",
        "likelier.estimators.online.classifier",
        "discriminative",
        "online-classifier",
        Saved(),  # a format of its own: saving/online.py
        (
            Candidate(
                "OnlineClassifier",
                "table_or_words",
                _SHARE,
                _LOG_ODDS,
                ("linear",),
                settings={"passes": 5, "random_state": 0},
                online=True,
            ),
        ),
    ),
    ModelInfo(
        "LinearRegression",
        "likelier.estimators.linear_regression",
        "regression",
        "linear-regression",
        Saved(_LINES),
        (
            Candidate(
                "LinearRegression",
                "contrasts",
                "errors of one variance",
                _LINE,
                _OF_ERRORS,
            ),
        ),
    ),
    ModelInfo(
        "Ridge",
        "likelier.estimators.linear_regression",
        "regression",
        "ridge",
        Saved(_LINES),
        (
            Candidate(
                "Ridge",
                "design",
                "errors of one variance, small weights",
                f"{_LINE}, and that slopes are small",
                _OF_ERRORS,
            ),
        ),
    ),
    ModelInfo("DesignMatrix", "likelier.estimators.design_matrix", "transformer"),
    ModelInfo(
        "TextClassifier",
        "likelier.estimators.text.classifier",
        "discriminative",
        saved=Saved(),
    ),
    ModelInfo("CountVectorizer", _TEXT, "transformer"),
    ModelInfo("HashingVectorizer", _TEXT, "transformer"),
    ModelInfo("TfidfTransformer", _TEXT, "transformer"),
    ModelInfo("TfidfVectorizer", _TEXT, "transformer"),
    # What `to_linear` returns: weights alone, as hyper-parameters.
    ModelInfo(
        "LinearClassifier",
        "likelier.estimators.linear_classifier",
        "discriminative",
        saved=Saved(),
        public=False,
    ),
)

# The prediction that knows y alone: the baseline of all others.
NO_COLUMNS: Mapping[bool, Candidate] = {
    False: Candidate(
        "(majority class)",
        "nothing",
        "each class as often as in the sample",
        "that columns say nothing of the class",
        ("assumes_nothing",),
        independent="",
        boundary="",
    ),
    True: Candidate(
        "(mean)",
        "nothing",
        "the mean of the sample",
        "that columns say nothing of the target",
        ("uninformative",),
        independent="",
        boundary="",
    ),
}

# By the names of their classes. What is entered here is known everywhere at once.
MODELS: dict[str, ModelInfo] = {info.name: info for info in _LISTED}


def public() -> dict[str, str]:
    """The modules of the classes that are names of the package."""
    return {info.name: info.module for info in MODELS.values() if info.public}


def command_names() -> dict[str, str]:
    """The names of classes by those that the command line has for them."""
    return {info.command: info.name for info in MODELS.values() if info.command is not None}


def row_named(name: str) -> tuple[ModelInfo, Candidate] | None:
    """The estimator and the settings of a row of the comparison's table, such as "NaiveBayes, weighted"."""
    rows = [(info, each) for info in MODELS.values() for each in info.candidates]
    return next((row for row in rows if row[1].name.lower() == name.strip().lower()), None)


def candidates(*, numbers: bool) -> list[tuple[ModelInfo, Candidate]]:
    """All that `likelier.compare` can try on a target of numbers, or of classes."""
    suited = [info for info in MODELS.values() if (info.kind == "regression") == numbers]
    return [(info, each) for info in suited for each in info.candidates]
