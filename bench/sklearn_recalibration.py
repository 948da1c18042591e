"""`Recalibrated` beside `CalibratedClassifierCV`: `python -m bench.sklearn_recalibration [splits [words of rows]]`.

Log loss on held-out data that scikit-learn ships or makes, the same classifiers in the same folds for all methods: five
data sets × four classifiers. `fix` is one classifier with the map that its out-of-fold forecasts are advised, beside
`CalibratedClassifierCV(ensemble=False)`. `… 20 unseen` takes small data sets on which no rule was chosen, `… pools
DATASETS` gives the log loss by the mean that `Recalibrated` takes over its classifiers, on other data than those of the
table.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from veracity import metrics
from veracity.sklearn import Recalibrated

THEIRS = ("sigmoid", "isotonic", "temperature")
OURS = ("advised", "best")
MOST_OFF, ERRORS = 0.01, 2.0  # share of the best of theirs; standard errors of the paired difference


def data() -> dict[str, tuple[Any, Any, float]]:
    """Return features, labels and the share that is trained on."""
    rare = make_classification(6000, weights=[0.99], n_informative=6, class_sep=1.5, flip_y=0.002, random_state=1)
    many = make_classification(
        4000, 40, n_informative=20, n_classes=100, n_clusters_per_class=1, class_sep=2.0, random_state=2
    )
    return {
        "breast cancer, 2 classes": (*load_breast_cancer(return_X_y=True), 0.5),
        "made, 1 % events": (*rare, 0.5),
        "wine, 3 classes": (*load_wine(return_X_y=True), 0.6),
        "digits, 10 classes": (*load_digits(return_X_y=True), 0.5),
        "made, 100 classes": (*many, 0.6),
    }


def unseen() -> dict[str, tuple[Any, Any, float]]:
    """Return the data of `data`, with the number of cases that are trained on, on which no rule was chosen."""
    made = {
        (2, 120): {"class_sep": 3.0, "flip_y": 0.0, "n_clusters_per_class": 2, "random_state": 907},
        (3, 120): {"class_sep": 1.0, "flip_y": 0.1, "n_clusters_per_class": 2, "random_state": 903},
    }
    features: dict[str, Any] = {"n_features": 15, "n_informative": 8, "n_redundant": 3}
    return {
        "iris, 60 cases": (*load_iris(return_X_y=True), 60),
        **{
            f"made, {classes} classes, {cases} cases": (
                *make_classification(cases + 1500, n_classes=classes, **features, **how),
                cases,
            )
            for (classes, cases), how in made.items()
        },
        "digits, 100 cases": (*load_digits(return_X_y=True), 100),
    }


def models(classes: int) -> dict[str, Any]:
    trees = 10 if classes > 50 else 40
    return {
        "naive Bayes": GaussianNB(),
        "forest": RandomForestClassifier(50, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=trees, early_stopping=False, random_state=0),
        "SVM": make_pipeline(StandardScaler(), SVC(random_state=0)),
    }


FITTED: dict[bytes, Any] = {}  # of the present split: every method has the same classifiers in the same folds
SCORED: dict[tuple[bytes, bytes], Any] = {}


def key(*arrays: Any) -> bytes:
    return hashlib.blake2b(b"".join(np.ascontiguousarray(x).tobytes() for x in arrays), digest_size=16).digest()


class Remembered(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted once to the same rows, and asked once about the same rows."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Remembered:
        self.key_ = key(X, y)
        if self.key_ not in FITTED:
            FITTED[self.key_] = clone(self.classifier).fit(X, y)
        self.classes_ = FITTED[self.key_].classes_
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return self._asked("predict", X)

    def _asked(self, method: str, X: Any) -> Any:
        place = (self.key_, key(X))
        if place not in SCORED:
            SCORED[place] = getattr(FITTED[self.key_], method)(X)
        return SCORED[place]


class WithProbabilities(Remembered):
    def predict_proba(self, X: Any) -> Any:
        return self._asked("predict_proba", X)


class WithScores(Remembered):
    def decision_function(self, X: Any) -> Any:
        return self._asked("decision_function", X)


@dataclass
class Losses:
    """Log loss of each method in each split."""

    by_method: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, y: Any, p: Any, classes: Any) -> None:
        loss = metrics.log_loss(y, p[:, 1] if p.shape[1] == 2 else p, labels=classes.tolist())
        self.by_method.setdefault(name, []).append(loss)

    def mean(self, name: str) -> float:
        return float(np.mean(self.by_method[name]))

    def beside(self, ours: str, theirs: list[str]) -> tuple[float, float]:
        """Return our loss less that of the best of theirs as a share of it, and the difference in standard errors."""
        best = min(theirs, key=self.mean)
        if not np.isfinite(self.mean(best)):
            return -np.inf, -np.inf
        gaps = np.subtract(self.by_method[ours], self.by_method[best])
        error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.inf
        return float(gaps.mean()) / self.mean(best), float(gaps.mean()) / error if error else 0.0


def measured(model: Any, X: Any, y: Any, share: float, splits: int) -> Losses:
    """Return the losses of one classifier on one data set."""
    losses = Losses()
    for split in range(splits):
        FITTED.clear()
        SCORED.clear()
        x, new, labels, outcomes = train_test_split(X, y, train_size=share, stratify=y, random_state=split)
        kind = WithScores if "svc" in getattr(model, "named_steps", {}) else WithProbabilities
        for ensemble in (True, False):
            beside = "" if ensemble else " alone"
            for method in THEIRS:
                fitted = CalibratedClassifierCV(kind(model), method=method, cv=5, ensemble=ensemble).fit(x, labels)
                p = fitted.predict_proba(new)
                losses.add(f"{method}{beside}", outcomes, p / p.sum(axis=1, keepdims=True), fitted.classes_)
        own: Any = Recalibrated(kind(model)).fit(x, labels)
        losses.add("advised", outcomes, own.predict_proba(new), own.classes_)
        best = Recalibrated(kind(model), "best")
        try:
            losses.add("best", outcomes, best.fit(x, labels).predict_proba(new), own.classes_)
        except ValueError:  # no map gains anything
            best = Recalibrated(kind(model), "identity")
            losses.add("best", outcomes, best.fit(x, labels).predict_proba(new), own.classes_)
        own.classifiers_ = [kind(model).fit(x, labels)]  # the same map for one classifier of all rows
        losses.add("fix", outcomes, own.predict_proba(new), own.classes_)
    return losses


def pools(number: int) -> None:
    """Print the log loss of arithmetic and geometric means, and of the one that is taken, over made data sets."""
    rng, found = np.random.default_rng(7), {}
    for seed in range(number):
        classes, rows = int(rng.choice([2, 2, 3, 6])), int(rng.choice([300, 1000, 3000]))
        how = {"n_informative": 8, "n_redundant": 6, "class_sep": rng.choice([0.5, 1.0, 2.0])}
        how |= {"flip_y": rng.choice([0.0, 0.05, 0.2]), "n_clusters_per_class": int(rng.choice([1, 2]))}
        X, y = make_classification(2 * rows, n_classes=classes, random_state=1000 + seed, **how)
        x, new, labels, outcomes = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)
        for title, model in models(classes).items():
            own: Any = Recalibrated(model).fit(x, labels)
            losses, taken = Losses(), own.pool_
            for own.pool_ in ("arithmetic", "geometric"):
                losses.add(own.pool_, outcomes, own.predict_proba(new), own.classes_)
            found.setdefault((title, taken), []).append([losses.mean("arithmetic"), losses.mean("geometric")])
    print("| classifier | taken | data sets | arithmetic | geometric | geometric − arithmetic |")
    print("|---|---|--:|--:|--:|--:|")
    for (title, taken), pairs in sorted(found.items()):
        one, two = np.transpose(pairs)
        z = (two - one).mean() / ((two - one).std(ddof=1) / np.sqrt(len(one))) if len(one) > 1 else np.nan
        share = 100 * (two / one - 1).mean()
        means = f"{one.mean():.4f} | {two.mean():.4f} | {share:+.1f} % ({z:+.1f} s.e.)"
        print(f"| {title} | {taken} | {len(one)} | {means} |")


def main(splits: int, chosen: list[str]) -> None:
    warnings.simplefilter("ignore")
    columns = [*THEIRS, *OURS, *(f"{method} alone" for method in THEIRS), "fix"]
    print("| data | classifier | " + " | ".join(columns) + " | advised − best of theirs | best − | fix − |")
    print("|---|---|" + "--:|" * (len(columns) + 3))
    together, alone = list(THEIRS), [f"{method} alone" for method in THEIRS]
    gaps: dict[str, list[float]] = {"advised": [], "best": [], "fix": []}
    sets = unseen() if chosen[:1] == ["unseen"] else data()
    chosen = [word for word in chosen if word != "unseen"]
    for name, (X, y, share) in sets.items():
        for title, model in models(len(np.unique(y))).items():
            if not all(word in f"{name} {title}" for word in chosen):
                continue
            losses = measured(model, X, y, share, splits)
            told = []
            for ours in gaps:
                off, z = losses.beside(ours, alone if ours == "fix" else together)
                gaps[ours].append(off)
                told.append(f"{100 * off:+.1f} % ({z:+.1f} s.e.){'' if off <= MOST_OFF or z <= ERRORS else ' ✗'}")
            means = " | ".join(f"{losses.mean(column):.4f}" for column in columns)
            print(f"| {name} | {title} | {means} | {' | '.join(told)} |", flush=True)
    for ours, shares in gaps.items():
        kept = [x for x in shares if np.isfinite(x)]
        print(f"\n{ours}: on average {100 * np.mean(kept):+.1f} % beside the best of theirs", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["pools"]:
        warnings.simplefilter("ignore")
        pools(int(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2:])
