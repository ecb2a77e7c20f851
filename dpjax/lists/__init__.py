"""Learners that make lists of functions from batches of rows. `learners.SparseAggregate` makes them private."""

from .base import ListPlan as ListPlan
from .base import Lists as Lists
from .globally_stable import GloballyStable as GloballyStable
from .irreducibility import Irreducibility as Irreducibility
