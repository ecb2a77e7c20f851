"""Privacy audits: what is claimed, and the evidence for or against it.

`exact` goes through every small database where the output law is finite; `statistical` runs anything that can be run;
`replay` compares what mechanisms are asked with their sensitivities, `sampler` draws with their law; `one_run`,
`epsilon_of_scores` and `of_outputs` read what is there already.
"""

from .accounting_targets import accounting_targets as accounting_targets
from .adapters import from_function as from_function
from .adapters import in_auditorium_form as in_auditorium_form
from .adapters import of_outputs as of_outputs
from .databases import Universe as Universe
from .databases import histograms as histograms
from .databases import samples as samples
from .databases import vectors as vectors
from .exact import exact as exact
from .exact import table_of as table_of
from .learner_targets import learner_target as learner_target
from .learner_targets import small_cover as small_cover
from .learner_targets import small_multi as small_multi
from .learner_targets import small_vc1 as small_vc1
from .mechanism_targets import mechanism_names as mechanism_names
from .mechanism_targets import mechanism_target as mechanism_target
from .mechanism_targets import relations as relations
from .median_targets import median_names as median_names
from .median_targets import median_relations as median_relations
from .median_targets import median_target as median_target
from .one_run import one_run as one_run
from .one_run import one_run_of as one_run_of
from .outcomes import NotListable as NotListable
from .ratio_test import delta_lower as delta_lower
from .ratio_test import epsilon_lower as epsilon_lower
from .ratio_test import p_value as p_value
from .replay import replay as replay
from .report import Report as Report
from .sampler import SamplerReport as SamplerReport
from .sampler import sampler as sampler
from .sanitizer_targets import sanitizer_names as sanitizer_names
from .sanitizer_targets import sanitizer_target as sanitizer_target
from .statistical import statistical as statistical
from .target import Pair as Pair
from .target import Target as Target
from .thresholds import epsilon_of_scores as epsilon_of_scores
