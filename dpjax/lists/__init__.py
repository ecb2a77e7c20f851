"""Learners that make lists of functions from batches of rows. `learners.SparseAggregate` makes them private."""

from .base import Cells as Cells
from .base import ListPlan as ListPlan
from .base import Lists as Lists
from .globally_stable import GloballyStable as GloballyStable
from .irreducibility import Irreducibility as Irreducibility
from .minimal_sets import MinimalSets as MinimalSets
from .on_host import Listing as Listing
from .version_space import VersionSpace as VersionSpace
from .versions import versions_of as versions_of
