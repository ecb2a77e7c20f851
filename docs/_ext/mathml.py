"""Formulas as MathML, which browsers draw themselves: no script and no font is needed."""

from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Registers the renderer "mathml"."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))


def _inline(self, node):
    self.body.append(tex2mathml(node.astext(), as_block=False))
    raise _skip()


def _block(self, node):
    self.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise _skip()


def _skip() -> Exception:
    from docutils.nodes import SkipNode

    return SkipNode()
