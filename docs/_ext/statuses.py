"""The page of exit statuses, from `dpjax.cli.exit_status.Status`."""

from dpjax.cli.exit_status import Status

_TEXT = """\
# Exit statuses

Every `dpjax` command ends with one of these statuses, so that a script or a scheduler can tell what happened. Where
several apply, the answer of `--json` says more: `failed` lists what failed, `left` counts what is not measured yet.

| status | meaning |
|---|---|
{rows}

The pages of single commands say what a status means there: [`audit`](commands/audit.md),
[`attack`](commands/attack.md), [`check`](commands/check.md), [`compare`](commands/compare.md).
"""


def pages() -> dict[str, str]:
    """The page by its path."""
    rows = "\n".join(f"| {one.value} | {one.meaning} |" for one in Status)
    return {"reference/statuses.md": _TEXT.format(rows=rows)}
