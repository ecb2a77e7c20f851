"""User tables in CSV files: columns with their grids, or locations in the plane; what `dpjax learn` does, in Python."""

from .columns import Table as Table
from .columns import held_out as held_out
from .columns import learn_all as learn_all
from .columns import read as read
from .grids import Grid as Grid
from .grids import Placing as Placing
from .grids import on_cube as on_cube
from .grids import on_lines as on_lines
from .grids import on_plane as on_plane
from .learned import Learned as Learned
from .learned import load as load
from .reading import Form as Form
