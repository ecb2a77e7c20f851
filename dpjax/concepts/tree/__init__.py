"""Classes of VC dimension 1 as trees."""

from .tree import Tree as Tree
