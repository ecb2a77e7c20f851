"""Exit statuses of the command line. Imports no JAX."""

from enum import IntEnum


class Status(IntEnum):
    """The exit status of a command; ``meaning`` says when a command ends with it."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "Status":
        """A status with its meaning."""
        status = int.__new__(cls, value)
        status._value_ = value
        status.meaning = meaning
        return status

    DONE = 0, "Done; of an audit: the evidence is consistent with the claim."
    REFUTED = 1, "A privacy claim is refuted, a check failed, or trials of two stores differ."
    INVALID = 2, "Invalid input, and the message says what to do; code of yours that raises; an audit without a test."
    FAULT = 3, "A fault of dpjax, with its traceback."
    FAILED = 4, "Some parts failed, each with its reason; everything else is done and stored."
    LEFT = 5, "Work is left: a signal or a time limit ended the command. The same command continues."
    INTERRUPTED = 130, "Interrupted (Ctrl-C). A command that stores trials continues when it is run again."
