"""Whether rows hold the expected values."""
import re


def plain(value):
    text = re.sub(r"\s+", " ", str(value)).strip().casefold()
    number = text.replace(",", "")
    try:
        return f"{float(number):.6g}"
    except ValueError:
        return re.sub(r"[^\w ]", "", text)


def is_right(answer, expected):
    rows = [[plain(cell) for cell in row if cell is not None] for row in answer["rows"]]
    wanted = sorted(plain(value) for value in expected)
    columns = zip(*[row for row in rows if len(row) == len(rows[0])]) if rows else []
    return any(sorted(set(column)) == sorted(set(wanted)) for column in columns)
