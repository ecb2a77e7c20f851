"""Privacy audits: a claim, and the evidence for or against it.

`exact` enumerates every small database if the output law is finite; `statistical` runs any algorithm many times;
`replay` compares the queries of mechanisms with their sensitivities, `sampler` compares draws with their law;
`one_run`, `epsilon_of_scores` and `of_outputs` evaluate existing scores or outputs.
"""

from .adapters import from_function as from_function
from .adapters import in_auditorium_form as in_auditorium_form
from .adapters import of_outputs as of_outputs
from .enumeration.exact import exact as exact
from .enumeration.exact import table_of as table_of
from .enumeration.exact import table_of_run as table_of_run
from .enumeration.outcomes import NotListable as NotListable
from .enumeration.pieces import random_bits_outside as random_bits_outside
from .enumeration.replay import replay as replay
from .report import Report as Report
from .sampling.guesses import delta_of_guesses as delta_of_guesses
from .sampling.guesses import epsilon_of_guesses as epsilon_of_guesses
from .sampling.guesses import p_value_of_guesses as p_value_of_guesses
from .sampling.known import KnownEvent as KnownEvent
from .sampling.known import KnownLaw as KnownLaw
from .sampling.one_run import one_run as one_run
from .sampling.one_run import one_run_of as one_run_of
from .sampling.ratio_test import delta_lower as delta_lower
from .sampling.ratio_test import epsilon_lower as epsilon_lower
from .sampling.ratio_test import p_value as p_value
from .sampling.sampler import SamplerReport as SamplerReport
from .sampling.sampler import sampler as sampler
from .sampling.statistical import statistical as statistical
from .sampling.thresholds import epsilon_of_scores as epsilon_of_scores
from .target.databases import Universe as Universe
from .target.databases import histograms as histograms
from .target.databases import samples as samples
from .target.databases import vectors as vectors
from .target.known import Known as Known
from .target.neighbors import require_neighbors as require_neighbors
from .target.target import Pair as Pair
from .target.target import Target as Target
from .together import confidence_of_each as confidence_of_each
from .together import false_alarm as false_alarm
from .together import seed_of as seed_of
