# SPDX-License-Identifier: Apache-2.0
"""Medians and comparisons over what bench.py keeps: results["cases"][name]["rounds"][tool][round][metric]."""
from statistics import median


def values(case, tool, metric):
    return [r[metric] for r in case["rounds"].get(tool, []) if r]


def middle(case, tool, metric):
    """Median over the rounds; None if the tool has none."""
    v = values(case, tool, metric)
    return median(v) if v else None


def _paired(case, tool, base, metric):
    pairs = zip(case["rounds"].get(tool, []), case["rounds"].get(base, []))
    return [(a[metric], b[metric]) for a, b in pairs if a and b]


def ratio(case, tool, base, metric):
    """Median of the ratios within a round."""
    pairs = _paired(case, tool, base, metric)
    return median(a / b for a, b in pairs) if pairs and all(b for _, b in pairs) else None


def added(case, tool, base, metric):
    """Median of the differences within a round."""
    pairs = _paired(case, tool, base, metric)
    return median(a - b for a, b in pairs) if pairs else None
