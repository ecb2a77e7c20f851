"""Which learner? The answer of `dpjax ask`."""
