"""The index of theorems: for every numbered item of the four papers what it says and what dpjax has of it.

The tables are the TOML files of this folder, one a paper; where the code is comes from the docstrings (`references`).
Imports no JAX.
"""

from .references import Place as Place
from .references import cited as cited
from .references import code as code
from .references import places as places
from .table import FAULTS as FAULTS
from .table import RULES as RULES
from .table import STATUSES as STATUSES
from .table import Item as Item
from .table import Paper as Paper
from .table import papers as papers
from .table import search as search
