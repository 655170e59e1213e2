"""How does recall grow with the number of hits? Drawn as an SVG, without a plotting library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT = 760, 420
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 40, 250, 50
_COLOURS = ("#1b6ca8", "#c4422b", "#2e8b57", "#8a4fa3", "#c78a1b", "#4a4a4a", "#0f9ba8", "#b8336a")

Curves = Mapping[str, Sequence[float]]


def recall_plot(curves: Curves, title: str) -> str:
    """Return an SVG of recall (0 to 1) over k (1 to the longest curve), one line a name."""
    longest = max((len(curve) for curve in curves.values()), default=1)
    body = [_text(_LEFT, _TOP - 16, title, size=15), *_grid(longest)]
    for number, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        dashes = ' stroke-dasharray="6 4"' if number >= len(_COLOURS) else ""
        points = " ".join(
            f"{_x(k, longest):.1f},{_y(share):.1f}" for k, share in enumerate(curve, start=1)
        )
        body.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
        )
        height = _TOP + 14 + 20 * number
        edge = _WIDTH - _RIGHT + 16
        body.append(
            f'<line x1="{edge}" y1="{height - 4}" x2="{edge + 22}" y2="{height - 4}" stroke="{colour}"'
            f' stroke-width="2"{dashes}/>'
        )
        at_ten = f"  {curve[9]:.3f} at 10" if len(curve) > 9 else ""
        body.append(_text(edge + 28, height, name + at_ten))
    height = max(_HEIGHT, _TOP + 20 * len(curves) + _BOTTOM)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif">\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _grid(longest: int) -> list[str]:
    lines = []
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        lines.append(_line(_LEFT, y, _WIDTH - _RIGHT, y))
        lines.append(_text(_LEFT - 8, y + 4, f"{tenth / 10:.1f}", anchor="end"))
    for k in sorted({k for k in (1, 5, 10, 20, 30, 40, 50, longest) if k <= longest}):
        x = _x(k, longest)
        lines.append(_line(x, _TOP, x, _HEIGHT - _BOTTOM))
        lines.append(_text(x, _HEIGHT - _BOTTOM + 18, str(k), anchor="middle"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    lines.append(_text(middle, _HEIGHT - 10, "k: hits looked at", anchor="middle"))
    return lines


def _x(k: int, longest: int) -> float:
    return _LEFT + (k - 1) / max(longest - 1, 1) * (_WIDTH - _RIGHT - _LEFT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'
