"""Audit targets: a small universe for every exported claim."""

from .accounting import accounting_targets as accounting_targets
from .learners import World as World
from .learners import learner_names as learner_names
from .learners import learner_target as learner_target
from .learners import learner_world as learner_world
from .mechanisms import mechanism_configurations as mechanism_configurations
from .mechanisms import mechanism_names as mechanism_names
from .mechanisms import mechanism_target as mechanism_target
from .mechanisms import relations as relations
from .medians import median_names as median_names
from .medians import median_relations as median_relations
from .medians import median_target as median_target
from .sanitizers import sanitizer_names as sanitizer_names
from .sanitizers import sanitizer_target as sanitizer_target
