"""Privacy audits: a claim, and the evidence for or against it.

`exact` enumerates every small database if the output law is finite; `statistical` runs any algorithm many times;
`replay` compares the queries of mechanisms with their sensitivities, `sampler` compares draws with their law;
`one_run`, `epsilon_of_scores` and `of_outputs` evaluate existing scores or outputs.
"""

from .adapters import from_function as from_function
from .adapters import in_auditorium_form as in_auditorium_form
from .adapters import of_outputs as of_outputs
from .databases import Universe as Universe
from .databases import histograms as histograms
from .databases import samples as samples
from .databases import vectors as vectors
from .exact import exact as exact
from .exact import table_of as table_of
from .exact import table_of_run as table_of_run
from .guesses import delta_of_guesses as delta_of_guesses
from .guesses import epsilon_of_guesses as epsilon_of_guesses
from .guesses import p_value_of_guesses as p_value_of_guesses
from .known import Known as Known
from .known import KnownEvent as KnownEvent
from .known import KnownLaw as KnownLaw
from .neighbors import require_neighbors as require_neighbors
from .one_run import one_run as one_run
from .one_run import one_run_of as one_run_of
from .outcomes import NotListable as NotListable
from .pieces import random_bits_outside as random_bits_outside
from .ratio_test import delta_lower as delta_lower
from .ratio_test import epsilon_lower as epsilon_lower
from .ratio_test import p_value as p_value
from .replay import replay as replay
from .report import Report as Report
from .sampler import SamplerReport as SamplerReport
from .sampler import sampler as sampler
from .statistical import statistical as statistical
from .target import Pair as Pair
from .target import Target as Target
from .thresholds import epsilon_of_scores as epsilon_of_scores
from .together import confidence_of_each as confidence_of_each
from .together import false_alarm as false_alarm
from .together import seed_of as seed_of
