"""Files as people have them: compressed, in other encodings, with other delimiters, with holes; and what is refused."""

import gzip

import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.tables.reading import complete, header, labels, numbers, opened, spellings
from dpjax.tables.sources import Form

ROWS = "age,größe,y\n1,1.5,0\n2,2.5,1\n"
NAMES = ("age", "größe", "y")


def write(folder, data, name="table.csv"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def table(folder, text, *names, **form):
    return opened(write(folder, text), names or ("a",), Form(**form))


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (ROWS.encode(), {}),
        (ROWS.encode("utf-8-sig"), {}),
        (ROWS.encode("utf-16"), {}),
        (ROWS.encode("latin-1"), {"encoding": "latin-1"}),
        (ROWS.encode("cp1252"), {"encoding": "cp1252"}),
        (gzip.compress(ROWS.encode(), mtime=0), {}),
        (gzip.compress(ROWS.encode("utf-16"), mtime=0), {}),
        (ROWS.replace(",", ";").encode(), {}),
        (ROWS.replace(",", "\t").encode(), {}),
        (ROWS.replace(",", "|").encode(), {}),
        (ROWS.replace(",", "~").encode(), {"delimiter": "~"}),
        (ROWS.replace("\n", "\r\n").encode(), {}),
        (("\n" + ROWS).encode(), {}),
        (ROWS.replace(",", ' , "').replace("\n", '"\n').encode(), {}),
    ],
)
def test_one_table_in_many_forms(tmp_path, data, form):
    if b' , "' in data:  # blanks around fields, and quotes
        data = 'age,größe,y\n 1 ,"1.5","0"\n2,2.5 ,1\n'.encode()
    found = opened(write(tmp_path, data), NAMES, Form(**form))
    assert found.column_names == [*NAMES]
    np.testing.assert_array_equal(numbers(found, "größe"), [1.5, 2.5])
    np.testing.assert_array_equal(labels(found, ["y"])[0], [[False], [True]])
    assert header(tmp_path / "table.csv", Form(**form)) == [*NAMES]


def test_the_delimiter_is_that_of_the_columns_asked_for(tmp_path):
    path = write(tmp_path, "a;name, first, second, third;y\n1;x;0\n")
    assert numbers(opened(path, ("a", "y")), "a") == [1.0]
    quoted = write(tmp_path, '"a,b";y\n1;0\n')
    assert numbers(opened(quoted, ("a,b", "y")), "a,b") == [1.0]


@pytest.mark.parametrize(
    ("data", "form", "words"),
    [
        (b"", {}, "empty"),
        (b"\n\n", {}, "empty"),
        (b"a,y\n", {}, "at least one row"),
        (b"a,y\n1,0\n1,0,3\n", {}, "2 fields in each row.*: 3 in line 3"),
        (b"a,a,y\n1,2,0\n", {}, "2 in the header; rename"),
        (b"b,y\n1,0\n", {}, "one of b, y"),
        ("a,y\n1,0\né,1\n".encode("latin-1"), {}, "byte 0xe9 in line 3.*--encoding latin-1"),
        (b"a,y\n1,0\n", {"encoding": "klingon"}, "name of an encoding"),
        (b"a,y\n1,0\n", {"encoding": "utf-16"}, "utf-16|one of"),
        (gzip.compress(b"a,y\n1,0\n" * 99, mtime=0)[:20], {}, "check path and file"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, data, form, words):
    with pytest.raises(InputError, match=words):
        opened(write(tmp_path, data), ("a", "y"), Form(**form))


def test_no_file_and_no_delimiter(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        opened(tmp_path / "none.csv", ("a",))
    for delimiter in ("", ",,", '"', "\n", "é"):
        with pytest.raises(InputError, match="one character"):
            Form(delimiter)
    with pytest.raises(InputError, match="name it once"):
        opened(write(tmp_path, "a,y\n1,0\n"), ("a", "a"))


def test_missing_and_infinite_values_are_alike(tmp_path):
    found = table(tmp_path, "a,b\n1,\nNA,2\nnan,?\ninf,3\n-Infinity,4\n 7 ,n/a\n", "a", "b", missing=("?",))
    np.testing.assert_array_equal(numbers(found, "a"), [1, *[np.nan] * 4, 7])
    np.testing.assert_array_equal(numbers(found, "b"), [np.nan, 2, np.nan, 3, 4, np.nan])


@pytest.mark.parametrize("text", ["1,234", "1,234.5", "1.234.567", "1'000", "1 000", "1_000", "3,14"])
def test_separators_are_refused_with_what_to_do(tmp_path, text):
    with pytest.raises(InputError, match=r"without separators.*in row 2.*point before the decimals"):
        numbers(table(tmp_path, f'a\n1\n"{text}"\n'), "a")


@pytest.mark.parametrize("text", ["x", "0x10", "12kg", "true", "?"])
def test_other_texts_are_no_numbers(tmp_path, text):
    with pytest.raises(InputError, match=r"expected numbers, got .* in row 3.*--missing"):
        numbers(table(tmp_path, f"a\n1\nNA\n{text}\n"), "a")


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        ("0 1 1", None, [0, 1, 1]),
        ("0.0 1.0 1", None, [0, 1, 1]),
        ("false TRUE True", None, [0, 1, 1]),
        ("benign malignant benign", "malignant", [0, 1, 0]),
        ("benign malignant benign", " benign ", [1, 0, 1]),
        ("1 2 2", "2.0", [0, 1, 1]),
        ("a b c", "b", [0, 1, 0]),
        ("0 1 0", "0", [1, 0, 1]),
    ],
)
def test_labels(tmp_path, values, positive, expected):
    found, there = labels(table(tmp_path, "a\n" + values.replace(" ", "\n") + "\n"), ["a"], positive)
    np.testing.assert_array_equal(found[:, 0], np.array(expected, bool))
    assert there.all()


def test_labels_that_are_missing(tmp_path):
    found, there = labels(table(tmp_path, "a,b\n0,x\n,y\n1,NA\n", "a", "b"), ["a"])
    np.testing.assert_array_equal(there[:, 0], [True, False, True])
    np.testing.assert_array_equal(found[:, 0], [False, False, True])
    found, there = labels(table(tmp_path, "a,b\n0,x\n,y\n1,NA\n", "b"), ["b"], "y")
    np.testing.assert_array_equal((found & there)[:, 0], [False, True, False])


def test_a_positive_value_need_not_be_in_every_column(tmp_path):
    """Others are 0 everywhere if they have the same labels, as they are if they are 0 and 1, and else refused."""
    found = table(tmp_path, "a,b,c,d\nyes,no,1,good\nno,no,0,bad\n", "a", "b", "c", "d")
    labelled, _ = labels(found, ["a", "b", "c"], "yes")
    np.testing.assert_array_equal(labelled, [[True, False, True], [False, False, False]])
    with pytest.raises(InputError, match=r"'d': expected labels of which one is 'yes', got 2 values: 'bad', 'good'"):
        labels(found, ["a", "d"], "yes")


@pytest.mark.parametrize(
    ("values", "positive", "words"),
    [
        ("benign malignant", None, "2 values: 'benign', 'malignant'; use --positive benign or --positive malignant"),
        ("very_bad good", None, "--positive good or --positive very_bad"),
        ("1 2", None, "--positive 1 or --positive 2"),
        (
            "a b c d e f g",
            None,
            r"7 values: 'a', 'b', 'c', 'd', 'e', \.\.\.; name the column of labels by --target, or",
        ),
        ("yes", None, "1 value: 'yes'"),
        ("benign malignant", "malignnt", "did you mean malignant"),
        (" ".join(map(str, range(3000))), "yes", r"one of [^;]{20,200}, got 'yes'"),
    ],
)
def test_labels_that_need_a_positive_value(tmp_path, values, positive, words):
    found = table(tmp_path, "a\n" + values.replace(" ", "\n") + "\n")
    with pytest.raises(InputError, match=words):
        labels(found, ["a"], positive)


def test_without_any_label_none_is_there(tmp_path):
    for positive in (None, "yes"):
        assert not labels(table(tmp_path, "a\nNA\nNA\n"), ["a"], positive)[1].any()


def test_a_value_of_two_words_is_quoted(tmp_path):
    with pytest.raises(InputError, match='--positive "in situ"'):
        labels(table(tmp_path, "a\nin situ\nnone such\n"), ["a"])


def test_incomplete_rows_are_counted_and_named():
    parts = {"age": np.array([1, 0, 0, 1] + [1] * 6, bool), "y": np.array([1, 1, 0, 1] + [0] * 6, bool)}
    words = r"8 of 10 rows without: 'age' in 2 \(row 2, 3\), 'y' in 7 \(row 3, 5, 6, 7, 8, \.\.\.\).*--drop-missing"
    with pytest.raises(InputError, match=words):
        complete(parts, drop=False)
    np.testing.assert_array_equal(complete(parts, drop=True), [True, False, False, True, *[False] * 6])
    assert complete({"age": np.ones(3, bool)}, drop=False).all()
    with pytest.raises(InputError, match="at least one row with all values"):
        complete({"age": np.zeros(3, bool)}, drop=True)


def test_other_spellings_of_the_positive_label_are_listed(tmp_path):
    values = ["yes", "Yes", "YES ", "no", "yes", "Yes", "y e s", "yes?"]
    (said,) = spellings(table(tmp_path, "a\n" + "\n".join(values) + "\n"), ["a"], "yes")
    assert said.startswith("target 'a': 1 is 'yes' (2 of 8 rows); other spellings count as 0: 'Yes' (2), 'YES' (1), ")
    assert "'y e s' (1), 'yes?' (1)" in said
    for values, positive in (("-1 1 +1", "1"), ("+ -", "+"), ("1 1.0 10", "1"), ("a b", "a")):
        assert spellings(table(tmp_path, "a\n" + values.replace(" ", "\n") + "\n"), ["a"], positive) == []
