"""The script of the health study, on a table that is made up."""

import csv

import numpy as np
import pytest

from dpjax.core.checks import InputError


@pytest.fixture(scope="module")
def script(scripts):
    return scripts("hospital")


def write(path, persons, years=2):
    generator = np.random.default_rng(0)
    columns = ["zper", "xage", "disea", "physlm", "hlthg", "hlthf", "hlthp", "mdvis", "drugdol", "totadm", "mentvis"]
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*columns, "child"])
        for person in range(persons):
            age = float(generator.uniform(1, 65))
            for year in range(years):
                sick = float(age > 40)
                table.writerow(
                    [person, age + year, 20 * sick, sick, 0, sick, 0, 5 * sick, sick, sick, 0, int(age < 18)]
                )


def test_one_row_a_person(script, tmp_path):
    write(tmp_path / "table.csv", 150)
    ages, labels = script.persons(tmp_path / "table.csv")
    assert ages.shape == (150,) and labels.shape == (150, len(script.FINDINGS))
    np.testing.assert_array_equal(labels[:, 0], ages > 40)


def test_too_small_a_table_is_refused(script, tmp_path):
    write(tmp_path / "table.csv", 20)
    with pytest.raises(InputError, match="100 persons"):
        script.persons(tmp_path / "table.csv")


@pytest.mark.slow
def test_the_page(script, tmp_path):
    write(tmp_path / "table.csv", 400, years=1)
    script.main(tmp_path / "table.csv", tmp_path, 0, 4, epsilons=(8.0,))
    page = (tmp_path / "hospital.md").read_text()
    assert "400 persons" in page and "| chronic diseases |" in page
    row = next(line for line in page.splitlines() if line.startswith("| chronic diseases |"))
    assert all(float(cell) < 0.2 for cell in row.split("|")[3:6])  # a clear threshold is learned
