"""Graphs of ONNX operators under construction: nodes in their order, constants once each."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET, ML_OPSET, IR = 17, 3, 8  # of ONNX 1.12 (2022): older runtimes are few
ML = "ai.onnx.ml"


class Graph:
    """Nodes and constants; a value is known by its name. All numbers are doubles."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[Any, str] = {}
        self._count = 0

    def name(self, kind: str) -> str:
        """A name that no value has."""
        self._count += 1
        return f"{kind.lower()}_{self._count}"

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its result."""
        from onnx import helper

        found = self.name(kind)
        self.nodes.append(
            helper.make_node(kind, list(inputs), [found], name=found, domain=domain, **attributes)
        )
        return found

    def number(self, value: Any) -> str:
        """A constant of doubles."""
        return self.constant(np.asarray(value, dtype=np.float64))

    def whole(self, value: Any) -> str:
        """A constant of whole numbers: indices, axes and shapes."""
        return self.constant(np.asarray(value, dtype=np.int64))

    def constant(self, array: NDArray[Any]) -> str:
        """A constant; equal ones are kept once."""
        from onnx import numpy_helper

        text = array.dtype.kind in "OU"
        array = array.astype(object) if text else np.array(array, order="C")
        key = (array.shape, array.dtype.str, tuple(array.ravel().tolist()) if text else array.tobytes())
        if key not in self._known:
            self._known[key] = self.name("constant")
            self.constants.append(numpy_helper.from_array(array, self._known[key]))
        return self._known[key]

    @contextmanager
    def inner(self) -> Iterator[list[Any]]:
        """Nodes of a graph inside, of a loop's body; it sees all values outside."""
        outer, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outer

    # ---- what is written often -----------------------------------------------------------------
    def sum(self, x: str, axis: int) -> str:
        """Over one axis, which goes."""
        return self.op("ReduceSum", x, self.whole([axis]), keepdims=0)

    def cast(self, x: str, kind: str = "DOUBLE") -> str:
        """To doubles, or another type."""
        from onnx import TensorProto

        return self.op("Cast", x, to=getattr(TensorProto, kind))

    def take(self, x: str, at: Any, axis: int = 1) -> str:
        """Some columns, or what an array of indices says."""
        return self.op("Gather", x, at if isinstance(at, str) else self.whole(at), axis=axis)

    def reshape(self, x: str, *shape: int) -> str:
        """0: as it is; -1: what is left."""
        return self.op("Reshape", x, self.whole(shape))

    def where_missing(self, x: str, then: float) -> str:
        """x, and a number in the place of NaN."""
        return self.op("Where", self.op("IsNaN", x), self.number(then), x)
