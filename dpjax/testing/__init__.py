"""The conformance suite, for dpjax's and for user code: from pytest, from Python and as `dpjax check`.

from dpjax import testing

def test_my_learner():
    testing.assert_passed(testing.check_learner(Mine(concepts)))
"""

from .findings import Finding as Finding
from .findings import assert_passed as assert_passed
from .findings import failures as failures
from .objects import Written as Written
from .suites import check_concepts as check_concepts
from .suites import check_law as check_law
from .suites import check_learner as check_learner
from .suites import check_mechanism as check_mechanism
from .suites import target_of as target_of
