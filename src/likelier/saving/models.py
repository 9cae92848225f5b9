"""Estimators to files and back."""

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from likelier.data import Chunk, Dense
from likelier.data.design import Design
from likelier.em import Stepwise
from likelier.estimators import validation
from likelier.estimators.catalogue import MODELS, Saved
from likelier.estimators.discriminative.base import Weights
from likelier.estimators.discriminative.logistic import LogisticSGDState
from likelier.estimators.discriminative.sgd_base import SGDState
from likelier.estimators.generative.outliers import scored
from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.linear_regression import LeastSquares, LinearParams
from likelier.estimators.online.classifier import OnlineClassifier
from likelier.estimators.text.classifier import TextClassifier
from likelier.families import LinearOnly
from likelier.inference import Information
from likelier.saving import format, online, text
from likelier.saving.checks import Sizes
from likelier.saving.format import Archive, require
from likelier.saving.schema import CLASSES, PARAMETERS, check
from likelier.scores import Among, Scores
from likelier.storage import Unsaveable, decode, encode

Arrays = dict[str, NDArray[Any]]


def saved_forms() -> dict[str, Saved]:
    """The estimators that can be saved, and what their files hold."""
    return {info.name: info.saved for info in MODELS.values() if info.saved is not None}


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    statistics: bool = True,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted estimator to a file. See docs/saving-models.md for the format.

    The file is written completely or not at all, and `load` gives back the same model, bit for bit.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of likelier.
    path : str or path-like
        The file to write.
    statistics : bool, default=True
        Whether to save what `partial_fit` and `merge` need. False makes a smaller file, whose model can
        only predict.
    about : dict, default=None
        Notes on the model, of values that JSON can hold. `likelier inspect` shows them, `load` ignores
        them.

    Raises
    ------
    TypeError
        If the estimator is not one of likelier's.
    ValueError
        If the model cannot be restored exactly, for example because it has a custom family.

    See Also
    --------
    load : Read the file again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = Path(tempfile.mkdtemp()) / "iris.lk"
    >>> lk.save(lk.GaussianNB().fit(X, y), path, about={"data": "iris"})
    >>> lk.load(path).score(X, y)
    0.96
    """
    format.write(Path(path), content_of(estimator, statistics=statistics, about=about))


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that `save` wrote.

    Unlike a pickle, the file contains no code that loading would run.

    Parameters
    ----------
    path : str or path-like
        The file to read.

    Returns
    -------
    estimator
        The fitted model, which predicts, continues training and merges as the one that was saved.

    Raises
    ------
    ValueError
        If the file is damaged, incomplete or inconsistent.

    See Also
    --------
    save : Write such a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import likelier as lk
    >>> path = Path(tempfile.mkdtemp()) / "line.lk"
    >>> lk.save(lk.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]), path)
    >>> lk.load(path).predict([[3.0]]).round(6).tolist()
    [7.0]
    """
    with format.opened(Path(path)) as archive:
        return _estimator(archive)


def estimator_of(content: bytes) -> Any:
    """The estimator of the bytes of a file."""
    return _estimator(Archive(BytesIO(content)))


# ---- out -----------------------------------------------------------------------------------------
def content_of(estimator: Any, *, statistics: bool, about: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a file, of which it is known that they load as what was saved."""
    name = type(estimator).__name__
    if name not in saved_forms() or type(estimator) is not MODELS[name].load():
        raise TypeError(
            f"save takes a fitted estimator of likelier ({', '.join(saved_forms())}), not an object of "
            f"class {type(estimator).__module__}.{name}. Of a pipeline, save likelier's step."
        )
    if isinstance(estimator, TextClassifier):
        inner = partial(content_of, statistics=statistics)
        content = text.content_of(estimator, inner, about)
        _estimator(Archive(BytesIO(content)))
        return content
    if isinstance(estimator, OnlineClassifier):
        return online.content_of(_kept(estimator, about))
    arrays: Arrays = {}
    header = {
        "likelier": version("likelier"),
        "estimator": name,
        "rows": _rows(estimator),
        **({} if about is None else {"about": dict(about)}),
        "params": _params(estimator, arrays),
        "fitted": {
            part: encode(value, part, arrays, CLASSES)
            for part, value in _fitted(estimator, statistics).items()
        },
    }
    content = format.packed(header, arrays)
    try:
        again = _estimator(Archive(BytesIO(content)))
    except ValueError as problem:
        raise ValueError(f"this {name} cannot be saved: {problem}") from None
    _check_same(again, estimator)
    return content


def _kept(estimator: OnlineClassifier, about: Mapping[str, Any] | None) -> online.Kept:
    validation.fitted(estimator)
    estimator._check_settings()
    names = getattr(estimator, "feature_names_in_", None)
    return online.Kept(
        estimator._model,
        _fitting(estimator),
        getattr(estimator, "n_features_in_", None),
        None if names is None else [str(name) for name in names],
        dict(about or {}),
    )


def _fitting(estimator: OnlineClassifier) -> dict[str, Any]:
    held = estimator.get_params(deep=False)
    seed = held["random_state"]
    if seed is not None and not isinstance(seed, int | np.integer):
        raise ValueError(
            f"this OnlineClassifier cannot be saved: random_state is {seed!r:.80}. Make it a whole number "
            "or None: set_params(random_state=0)."
        )
    return {
        "passes": int(held["passes"]),
        "shuffle": bool(held["shuffle"]),
        "random_state": None if seed is None else int(seed),
    }


def _rows(estimator: Any) -> list[float] | None:
    """The weight of the rows learned from, by class; None: not known."""
    counted = getattr(estimator, "_statistics", None)
    if isinstance(counted, Stepwise) and counted.batches:
        return None  # what faded is no count of rows
    return None if counted is None else np.atleast_1d(counted.n).tolist()


def _params(estimator: Any, arrays: Arrays) -> dict[str, Any]:
    held = estimator.get_params(deep=False)
    try:
        return {key: encode(value, f"params/{key}", arrays, PARAMETERS) for key, value in held.items()}
    except Unsaveable as problem:
        key = problem.path.split("/")[1]
        if key == "families":
            raise ValueError(
                f"{problem} A custom family needs its own code to be loaded, which model files do "
                "not hold: pickle "
                "the model, or use one of likelier's families."
            ) from None
        raise ValueError(
            f"{problem} What was fitted does not need its hyper-parameters any more: to save it without "
            f"this one, set it to something plain first, for example set_params({key}=None)."
        ) from None


def _fitted(estimator: Any, statistics: bool) -> dict[str, Any]:
    if isinstance(estimator, LinearClassifier):
        return {}  # it is all hyper-parameters
    validation.fitted(estimator)
    counted = estimator._statistics
    if counted is not None and not statistics:
        if not (np.all(counted.n > 0) or isinstance(estimator._model, Weights)):  # weights are for all
            unseen = ", ".join(map(str, estimator._target[counted.n == 0][:5]))
            raise ValueError(
                f"no row of class {unseen} has been seen, which only the statistics record: save "
                "the model with its statistics."
            )
        counted = None
    return {
        "target": estimator._target,
        "n_features": estimator.n_features_in_,
        "feature_names": getattr(estimator, "feature_names_in_", None),
        "model": _settled(estimator._model),
        "statistics": counted,
        **({"design": estimator._design} if "_design" in vars(estimator) else {}),
    }


def _settled(model: Any) -> Any:
    """With all that it puts off done."""
    typical = getattr(model, "typical", None)
    return model if typical is None else replace(model, typical=scored(typical))


def _check_same(again: Any, estimator: Any) -> None:
    """Refuse to save what would come back as something else."""
    ours, theirs = ({k: v for k, v in vars(one).items() if k.endswith("_")} for one in (estimator, again))
    if issparse(ours.get("coef_")):
        ours["coef_"] = ours["coef_"].toarray()  # sparsified, for looking at: it comes back dense
    lean = vars(estimator).get("_statistics") is not None and again._statistics is None
    for name in sorted(ours.keys() | theirs.keys()):
        if lean and name not in theirs:
            continue  # it is read off the statistics
        if name not in theirs or name not in ours or not _same_bits(ours[name], theirs[name]):
            why = "were hyper-parameters changed since fit? Set them back, or fit again"
            if lean:
                why = "it needs the statistics: save with them"
            raise ValueError(f"{name} of this {type(estimator).__name__} would be lost or changed: {why}.")


def _same_bits(a: Any, b: Any) -> bool:
    contents = []
    for value in (a, b):
        arrays: Arrays = {}
        held = dict(value) if isinstance(value, dict) else value  # a table that is shown is a dict
        if isinstance(value, np.ndarray) and value.dtype == object:
            held = value.tolist()  # in which there may be None, as in scikit-learn's l1_ratios_
        contents.append(format.packed({"value": encode(held, "value", arrays, CLASSES)}, arrays))
    return contents[0] == contents[1]


# ---- in ------------------------------------------------------------------------------------------
def _estimator(archive: Archive) -> Any:
    name, left = archive.header.get("estimator"), archive.names
    require(isinstance(name, str) and name in saved_forms(), f"there is no estimator {name!r:.80}")
    if name == text.NAME:
        return text.classifier_in(archive, _estimator)
    if name == online.NAME:
        return _shown(online.kept_in(archive))

    def take(array: str) -> NDArray[Any]:
        require(array in left, f"array {array!r:.80} is not there, or is used twice")
        left.remove(array)
        return archive.array(array)

    cls, params = MODELS[str(name)].load(), archive.section("params")
    unknown = params.keys() - set(cls._get_param_names())
    require(not unknown, f"{name} has no hyper-parameter {', '.join(sorted(unknown)):.80}")
    estimator = cls(**{key: decode(value, take, PARAMETERS) for key, value in params.items()})
    parts = {key: decode(value, take, CLASSES) for key, value in archive.section("fitted").items()}
    require(not left, f"nothing refers to array {', '.join(sorted(left)):.80}")
    return _become_fitted(estimator, saved_forms()[str(name)], parts)


def _shown(kept: online.Kept) -> OnlineClassifier:
    estimator = OnlineClassifier.of(kept.model, **kept.fitting)
    if kept.n_features is not None:
        estimator.n_features_in_ = kept.n_features
    if kept.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(kept.feature_names, dtype=object)
    return estimator


def _become_fitted(estimator: Any, form: Saved, parts: dict[str, Any]) -> Any:
    if not form.model:
        require(not parts, f"a {type(estimator).__name__} has no such parts")
        return _checked_linear(estimator)
    wanted = {"target", "n_features", "feature_names", "model", "statistics"}
    design = parts.pop("design", None)
    require(parts.keys() == wanted, f"its parts are not {', '.join(sorted(wanted))}")
    target, p, names, model, statistics = (
        parts[key] for key in ("target", "n_features", "feature_names", "model", "statistics")
    )
    require(type(p) is int and p > 0, f"{p!r:.80} is not a number of columns")
    _check_names(names, p)
    if design is not None:
        names, p = _designed(design, names, p)
    sizes = {"p": p, **(_targets(target) if isinstance(estimator, LeastSquares) else _classes(target))}
    require(_is_one(model, form.model), f"the model is not a {_words(form.model)}")
    check(model, sizes)
    if form.densities:
        require(_is_one(model.params, form.densities), f"the densities are not {_words(form.densities)}")
        require(model.params.shape == (sizes["K"], p), f"the densities are not of {p} columns")
    if statistics is not None:
        kept = (Information, LogisticSGDState, SGDState) if "model.Weights" in form.model else None
        good = hasattr(statistics, "mergeable") if kept is None else isinstance(statistics, kept)
        require(good, "the statistics are not valid")
        check(statistics, sizes)
    with np.errstate(all="ignore"):
        linear = isinstance(model, LinearParams | Weights)
        dense = not linear and not isinstance(model.params, LinearOnly)
        scores = [model.scores] if linear else [model.posterior, *([model.joint] if dense else [])]
        for one in scores:
            _check_scores(one, p)
        return estimator._publish(model, statistics, target, names)


def _designed(design: Any, names: Any, p: int) -> tuple[NDArray[Any], int]:
    """The columns that the model was fitted to, where a table of p columns became a design matrix."""
    require(isinstance(design, Design), "the design is not valid")
    check(design, {})
    known = None if names is None else list(names)
    same = len(design.table) == p and (known == design.names_in if design.named else known is None)
    require(same, "the design is not of these columns")
    return design.names, design.p


def _is_one(record: Any, names: tuple[str, ...]) -> bool:
    return type(record) in [CLASSES[name] for name in names]


def _words(names: tuple[str, ...]) -> str:
    return " or ".join(CLASSES[name].__name__ for name in names)


def _classes(target: Any) -> Sizes:
    good = type(target) is np.ndarray and target.ndim == 1 and len(target) > 0
    require(good, "the classes are not a list of labels")
    again = validation.classes_of(None, target)
    same = again.dtype == target.dtype and again.tolist() == target.tolist()
    require(same, "the classes are not sorted, each once")
    K = len(target)
    return {"K": K, "q": 1 if K == 2 else K}  # q scores tell K classes apart


def _targets(target: Any) -> Sizes:
    good = type(target) is tuple and len(target) < 2 and all(type(q) is int and q > 0 for q in target)
    require(good, f"{target!r:.80} is not the shape of a row of y")
    return {"q": math.prod(target)}


def _check_names(names: Any, p: int) -> None:
    if names is not None:
        good = type(names) is np.ndarray and names.shape == (p,)
        good = good and all(type(name) is str for name in names)
        require(good, f"the feature names are not {p} strings")


def _check_scores(scores: Scores, p: int) -> None:
    """One row answered, whatever the answer: matrices that have no factors come to light here."""
    for term in scores.terms:
        for value in (v for v in vars(term).values() if isinstance(v, np.ndarray | Scores)):
            if isinstance(value, Scores):
                _check_scores(value, len(term.columns) if isinstance(term, Among) else p)
                continue
            require(not np.isnan(value).any(), "the parameters make no scores: a variance is not positive")
    scores.write(Chunk(Dense(np.zeros((1, p)))), np.empty((1, scores.K)))


def _checked_linear(estimator: LinearClassifier) -> LinearClassifier:
    W, b, classes = estimator.coef_, estimator.intercept_, estimator.classes_
    K = len(set(classes.tolist())) if classes.ndim == 1 else 0
    require(K == len(classes) > 1, "the classes are not a list of labels, each once")
    rows = 1 if K == 2 and len(W) == 1 else K
    require(W.ndim == 2 and len(W) == rows and W.shape[1] > 0, f"coef is not ({rows}, p)")
    require(b.shape == (rows,), f"intercept has shape {b.shape}, not ({rows},)")
    require(np.isfinite(W).all() and np.isfinite(b).all(), "coef or intercept contains NaN or infinity")
    names = estimator.feature_names
    _check_names(None if names is None else np.asarray(names, dtype=object), W.shape[1])
    _check_scores(estimator._scores(), W.shape[1])
    return estimator
