"""Classes of VC dimension 1 as trees."""

from .rooted import Rooted as Rooted
from .spider import Spider as Spider
from .tree import Tree as Tree
