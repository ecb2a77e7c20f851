"""dp_accounting's privacy-loss distribution of two exact laws."""

from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions


def pld_of_pmfs(log_p, log_q, interval=1e-4):
    """Both directions, every loss rounded up to a grid of step ``interval``; ``hockey_stick`` has no grid."""
    upper, lower = dict(enumerate(log_p.tolist())), dict(enumerate(log_q.tolist()))
    return from_two_probability_mass_functions(lower, upper, value_discretization_interval=interval, symmetric=False)
