"""The worked examples run, and come to what they say."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
BEGINS = {"png": b"\x89PNG", "gif": b"GIF89a"}


@pytest.fixture
def example(tmp_path, capsys):
    """What an example prints; its picture is checked for being one."""
    plt = pytest.importorskip("matplotlib.pyplot")

    def run(name, *arguments, ending="png", **settings):
        spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        for key, value in settings.items():
            assert hasattr(module, key)
            setattr(module, key, value)
        picture = tmp_path / f"{name}.{ending}"
        module.main(*arguments, str(picture))
        plt.close("all")
        assert picture.read_bytes().startswith(BEGINS[ending])
        return capsys.readouterr().out

    return run


def test_heights(example):
    out = example("heights")
    assert "0.98886" in out
    assert "0.99726" in out


def test_heart(example, data_file):
    assert "wrong: 31.6%" in example("heart", str(data_file("saheart.csv")))


def test_wine_by_hue_and_alcohol(example):
    out = example("wine_hue_alcohol", SPLITS=60)
    one, many = (float(found) for found in re.findall(r"([\d.]+)%", out))
    assert one == pytest.approx(9.1)
    assert 8 < many < 12


def test_least_squares_as_a_classifier(example):
    out = example("least_squares_as_classifier")
    (squares, logistic), (far_squares, far_logistic) = (
        [int(wrong) for wrong in re.findall(r"(\d+) wrong", part)] for part in out.split("and one row far")
    )
    assert far_squares >= squares + 5
    assert far_logistic == logistic == 0


def test_click_site(example):
    pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")
    out = example("click_site", VISITS=500)
    shown, clicked, learned = map(int, re.match(r"(\d+) shown, (\d+) clicked; (\d+) rows", out).groups())
    assert shown == learned == 500
    assert clicked > 20
    assert "500 rows learned, 2 classes" in out.splitlines()[2]  # the same from the log alone


def test_loss_path(example):
    said = example("loss_path")
    ends = re.findall(r"(standardised|as it is): \w+: \d+ steps, to (\(.*\))", said)
    assert len(ends) == 5
    assert len(set(ends)) == 2  # those that arrive, arrive at one point
    assert "as it is: steepest: 1000 steps, not there yet" in said


def test_click_stream(example):
    said = example("click_stream", ROWS=12_000)
    apart, together, alone = (float(loss) for loss in re.findall(r"log-loss (?:of )?(0\.\d+)", said))
    assert together + 0.02 < apart < alone - 0.04
    assert said.count("12000 rows, 2 classes: 12000 learned") == 2


def test_which_weights(example):
    said = example("which_weights", STREAMS=6)
    wrong = {kind: (float(mean), float(worst)) for kind, mean, worst in re.findall(FIGURES, said)}
    for kind in ("average", "voted"):
        assert wrong[kind][1] < 12.5
        assert wrong[kind][1] + 2 < min(wrong["last"][0], wrong["random"][0])


FIGURES = r"(\w+): ([\d.]+)% wrong after 2048 rows, worst ([\d.]+)%"


def test_federated(example):
    said = example("federated")
    assert float(re.search(r"differ by at most (\S+)", said)[1]) < 1e-12
    judged = re.findall(r"^(\w+): .*% wrong, log-loss [\d.]+, AUC [\d.]+$", said, re.MULTILINE)
    assert judged == ["north", "harbour", "hill", "merged"]


def test_documents(example):
    said = example("documents")
    odds, told, model = re.search(
        r"= ([\d.]+)\nPr\(politics\) = ([\d.]+); the model: ([\d.]+)", said
    ).groups()
    assert told == model
    ratios = [float(r) for r in re.findall(r"([\d.]+)\^", said)]
    bias = float(re.search(r"g\(x\) = ([\d.]+)", said)[1])
    assert bias * ratios[0] * ratios[2] ** 2 == pytest.approx(float(odds), rel=1e-2)  # exponents 1, 0, 2, 0
    wrong = {
        name: float(share) for name, share in re.findall(r"^(\w+): ([\d.]+)% wrong", said, re.MULTILINE)
    }
    assert set(wrong) == {"MultinomialNB", "BernoulliNB", "ComplementNB"}
    assert max(wrong.values()) < 20


def test_em_movie(example):
    said = example("em_movie", STEPS=2, ending="gif")
    assert "2 steps: the log-likelihood of a wine from -8.048" in said
    assert "no step lowers it: True" in said
