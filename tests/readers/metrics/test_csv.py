"""CSV files as tools and people make them: separators, headers, wide and long, zones, odd cells."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from tests.readers.metrics.writers import save

from afterload.errors import InputError
from afterload.readers.metrics import read_metrics_file

BERLIN, PACIFIC, UTC = ZoneInfo("Europe/Berlin"), ZoneInfo("America/Los_Angeles"), ZoneInfo("UTC")
T = 1_760_943_000.0  # 2025-10-20T06:50Z


def read(folder, text, zone=None, decimal=None):
    return read_metrics_file(save(folder, text), zone=zone, decimal=decimal)


def by_title(file):
    return {series.title: series.values.tolist() for series in file.series}


def kinds(file):
    return [remark.kind for remark in file.remarks]


def test_wide_with_empty_cells(tmp_path):
    file = read(tmp_path, "time,sent,served\n2025-10-20T06:50Z,1,\n2025-10-20T06:51Z,,4\n2025-10-20T06:52Z,3,5\n")
    assert by_title(file) == {"sent": [1, 3], "served": [4, 5]}
    sent = file.series[0]
    # The rows show the period, though this column has a hole.
    assert sent.period_s == 60
    assert sent.gaps == ((T + 60, T + 120),)
    assert sent.rows_dropped == 0
    assert file.remarks == ()


def test_long_with_name_and_labels(tmp_path):
    text = "time,name,status,value\n" + "".join(
        f"2025-10-20T06:5{i}Z,{name},{status},{i + status}\n"
        for i in range(3)
        for name in "ab"
        for status in (200, 500)
    )
    assert by_title(read(tmp_path, text)) == {
        "a (status=200)": [200, 201, 202], "a (status=500)": [500, 501, 502],
        "b (status=200)": [200, 201, 202], "b (status=500)": [500, 501, 502],
    }  # fmt: skip


def test_labels_beside_several_value_columns(tmp_path):
    text = "at,queue,visible,inflight\n2025-10-20T06:50Z,orders,5,1\n2025-10-20T06:50Z,mail,7,2\n2025-10-20T06:51Z,orders,6,1\n"
    found = by_title(read(tmp_path, text))
    assert found["visible (queue=orders)"] == [5, 6]
    assert found["inflight (queue=mail)"] == [2]
    assert len(found) == 4


def test_statistic_and_unit_columns(tmp_path):
    text = "Timestamp,Metric,Stat,Unit,Value\n2025-10-20T06:50Z,Age,Maximum,Seconds,5\n2025-10-20T06:50Z,Sent,Sum,Count,7\n"
    found = {(item.title, item.statistic, item.unit) for item in read(tmp_path, text).series}
    assert found == {("Age", "max", "Seconds"), ("Sent", "sum", "Count")}


@pytest.mark.parametrize(
    ("heading", "statistic"),
    [("Sent (Sum)", "sum"), ("latency_p99", "p99"), ("avg latency", "average"), ("Age Maximum", "max"), ("orders", "unknown"),
     ("p99.9", "p99.9"), ("sum_of_parts", "sum"), ("total", "unknown")],
)  # fmt: skip
def test_statistic_of_a_heading(tmp_path, heading, statistic):
    assert read(tmp_path, f"time,{heading}\n2025-10-20T06:50Z,1\n").series[0].statistic == statistic


def test_grafana_joined_by_time_with_selectors_and_its_sep_line(tmp_path):
    text = (
        'sep=,\r\n"Time","{__name__=""up"", instance=""a:1"", note=""x, y""}","http{code=""500""}"\r\n'
        "1760943000000,1,0\r\n1760943015000,1,2\r\n"
    )
    file = read(tmp_path, text)
    up, http = file.series
    assert (up.name, up.labels) == ("up", (("instance", "a:1"), ("note", "x, y")))
    assert (http.name, http.labels) == ("http", (("code", "500"),))
    assert up.times.tolist() == [T, T + 15]
    assert file.remarks == ()


def test_grafana_series_as_rows_of_its_older_versions(tmp_path):
    """From the expected text of Grafana's own test of convertSeriesListToCsv: seconds in quotes, null, no last line end."""
    text = '"Series";"Time";"Value"\r\n"a";"1500026100";1\r\n"a";"1500026200";null\r\n"b";"1500026100";11\r\n"b";"1500026200";12'
    file = read(tmp_path, text)
    assert by_title(file) == {"a": [1], "b": [11]}
    assert kinds(file) == ["partial"]
    assert file.remarks[0].line == 5


def test_grafana_formatted_values_are_refused_with_what_to_do(tmp_path):
    text = "Time,latency\n2025-10-20 06:50:00,35 ms\n2025-10-20 06:51:00,1.2 s\n"
    with pytest.raises(InputError, match=r"'35 ms': export raw values without units .*Formatted data"):
        read(tmp_path, text, UTC)


def test_rows_above_the_points_as_the_cloudwatch_console_writes_them(tmp_path):
    text = (
        '"Full label","orders Sent","orders Age"\n"Label","Sent","Age"\n"Statistic","Sum","Maximum"\n"Period","60","60"\n'
        '"Region","eu-west-1","eu-west-1"\n"2025/10/20 06:50:00","1","2"\n"2025/10/20 06:51:00","3","4"\n'
    )
    file = read(tmp_path, text, UTC)
    sent, age = file.series
    assert (sent.name, sent.statistic, sent.labels) == ("Sent", "sum", (("region", "eu-west-1"),))
    assert (age.statistic, age.values.tolist(), age.times.tolist()) == ("max", [2, 4], [T, T + 60])


def test_lines_above_the_header_are_named(tmp_path):
    file = read(
        tmp_path, "Report of orders,\n\ntime,sent\n2025-10-20T06:50Z,1\n2025-10-20T06:51Z,x\n2025-10-20T06:52Z,2\n"
    )
    assert by_title(file) == {"sent": [1, 2]}
    assert "Report of orders" in file.remarks[0].text
    # Row 5 of the file, blank line and title counted.
    assert file.remarks[1].line == 5


def test_files_put_after_each_other(tmp_path):
    file = read(tmp_path, "time,a\n2025-10-20T06:50Z,1\ntime,a\n2025-10-20T06:51Z,2\n\n")
    assert by_title(file) == {"a": [1, 2]}
    assert file.remarks == ()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(tmp_path, separator, end):
    rows = ["time,a b,c", "2025-10-20T06:50Z,1,0.5", "2025-10-20T06:51Z,2,1.5"]
    assert by_title(read(tmp_path, end.join(row.replace(",", separator) for row in rows) + end)) == {
        "a b": [1, 2],
        "c": [0.5, 1.5],
    }


def test_a_trailing_separator_is_no_column(tmp_path):
    assert by_title(read(tmp_path, "time,a,\n2025-10-20T06:50Z,1,\n2025-10-20T06:51Z,2,\n")) == {"a": [1, 2]}


def test_stray_words_in_a_column_of_numbers_are_refused_with_row_and_value(tmp_path):
    rows = [f"2025-10-20T06:{50 + i}Z,{i}" for i in range(8)]
    rows[3] = "2025-10-20T06:53Z,error"
    file = read(tmp_path, "time,a\n" + "\n".join(rows) + "\n")
    assert len(file.series[0].times) == 7
    assert file.series[0].rows_dropped == 1
    assert (file.remarks[0].kind, file.remarks[0].line) == ("refused", 5)
    assert "'error'" in file.remarks[0].text


def test_words_for_no_data_and_for_no_number(tmp_path):
    cells = ["1", "null", "undefined", "No data", "-", "N/A", "NaN", "+Inf", "-inf", "2"]
    file = read(tmp_path, "time,a\n" + "".join(f"2025-10-20T06:{50 + i}Z,{cell}\n" for i, cell in enumerate(cells)))
    (series,) = file.series
    assert series.values.tolist() == [1, 2]
    assert series.rows_dropped == 3
    assert kinds(file)[:2] == ["doubt", "doubt"]


def test_a_row_of_too_many_cells_is_an_error_with_its_row(tmp_path):
    for row in ("2025-10-20T06:51Z,1,2", "2025-10-20T06:51Z,1,2,3,4"):
        with pytest.raises(InputError, match="row 3 has more than 2 cells"):
            read(tmp_path, f"time,a\n2025-10-20T06:50Z,1\n{row}\n2025-10-20T06:52Z,1\n")


def test_a_column_that_is_no_label_is_named(tmp_path):
    rows = "".join(f"2025-10-20T06:50Z,r-{i},q,{i}\n" for i in range(6000))
    with pytest.raises(InputError, match="'request' has 6,000 different values"):
        read(tmp_path, "time,request,queue,value\n" + rows)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("  \n\n", "is empty"),
        ("time,a\n", "no rows"),
        ("hello\nworld\n", "no comma, semicolon, tab or bar splits"),
        ("2025-10-20T06:50Z,1\n2025-10-20T06:51Z,2\n", "has no header"),
        ("time,a\n20/10/2025 06:50,1\n", "row 2: '20/10/2025 06:50' in column 'time' is not a time that can be read"),
        ("time,a\n10/09/2025 06:50,1\n", "one way only"),
        ("time,a\n2025-10-20T06:50Z,1", "no whole row"),
        ("name,a\nx,1\ny,2\n", "without a column of times"),
        ("time,a\n2025-10-20T06:50Z,up\n", "no column holds numbers"),
        ("PK\x03\x04, not text", "without a column of times|no rows"),
        ('{"hello": 1}', "JSON with hello, which is no export of metrics"),
        ('{"hello": ', "not whole JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 5000 + "}", "too many digits|no export"),
    ],
)
def test_what_is_no_file_of_metrics(tmp_path, text, words):
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, text)
    assert "metrics.txt" in str(caught.value)


# Times


@pytest.mark.parametrize(
    "text",
    ["2025-10-20T06:50:00Z", "2025-10-20T06:50Z", "2025-10-20 06:50:00+00:00", "2025-10-20T08:50:00+02:00",
     "2025-10-19T23:50:00-0700", "2025-10-20 06:50:00 UTC", "2025-10-20 06:50:00 +0000 UTC", "2025-10-20T06:50:00.000Z",
     "2025/10/20 06:50:00Z", "1760943000", "1760943000.0", "1760943000000", "1760943000000000", "1760943000000000000",
     "1.760943e+09", "2025-10-20T06:50:00,000Z"],
)  # fmt: skip
def test_ways_to_write_one_instant(tmp_path, text):
    assert read(tmp_path, f'time,a\n"{text}",1\n').series[0].times.tolist() == [T]


def test_instants_of_several_offsets_in_one_file(tmp_path):
    file = read(tmp_path, "time,a\n2025-10-20T06:50Z,1\n2025-10-20T08:51+02:00,2\n2025-10-19T23:52-07:00,3\n")
    assert file.series[0].times.tolist() == [T, T + 60, T + 120]


@pytest.mark.parametrize(
    "text", ["now", "2025", "2025-10", "2025-10-20T06:4", "2025-13-20T06:50Z", "2025-10-20T25:50Z",
             "2025-02-29T06:50Z", "45950.28", "5", "0001-01-01T00:00Z",
             "9999-01-01T00:00Z", "NaN", "x"],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_its_row(tmp_path, text):
    file = read(tmp_path, f"time,a\n2025-10-20T06:50Z,1\n2025-10-20T06:51Z,1\n{text},7\n2025-10-20T06:52Z,2\n")
    assert file.series[0].values.tolist() == [1, 1, 2]
    assert (file.remarks[0].kind, file.remarks[0].line) == ("refused", 4)
    assert repr(text) in file.remarks[0].text
    assert file.series[0].rows_dropped == 1


def test_seconds_and_milliseconds_in_one_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="row 3: times are epoch seconds in row 2, and milliseconds in row 3"):
        read(tmp_path, "time,a\n1760943000,1\n1760943060000,1\n")


def test_times_without_zone_need_one(tmp_path):
    text = "time,a\n2025-10-19 23:50:00,1\n2025-10-19 23:51:00,2\n"
    with pytest.raises(InputError, match=r"row 2: the time '2025-10-19 23:50:00' states no zone: give the zone"):
        read(tmp_path, text)
    assert read(tmp_path, text, PACIFIC).series[0].times.tolist() == [T, T + 60]


def test_a_stated_zone_is_kept_whatever_zone_is_given(tmp_path):
    text = "time,a\n2025-10-20T06:50Z,1\n2025-10-20 08:51,2\n"
    assert read(tmp_path, text, BERLIN).series[0].times.tolist() == [T, T + 60]


def test_the_double_hour_of_autumn_is_asked_about(tmp_path):
    rows = [f"2025-10-26 0{hour}:{minute:02}:00,{hour}" for hour in (1, 2, 2, 3) for minute in (0, 30)]
    file = read(tmp_path, "time,a\n" + "\n".join(rows) + "\n", BERLIN)
    (series,) = file.series
    assert series.values.tolist() == [1, 1, 3, 3]
    assert series.rows_dropped == 4
    # 01:30 CEST is 23:30Z, 03:00 CET is 02:00Z: the two hours of 02:xx lie between.
    assert series.gaps == ((1_761_436_800.0 - 1800 + 1800, 1_761_444_000.0),)
    ask = next(remark for remark in file.remarks if remark.kind == "ask")
    assert ask.line == 4
    assert "occurs twice in Europe/Berlin" in ask.text
    assert "4 rows" in ask.text


def test_the_hour_that_spring_skips_shows_a_wrong_zone(tmp_path):
    text = "time,a\n2025-03-30 01:30:00,1\n2025-03-30 02:30:00,2\n"
    with pytest.raises(InputError, match=r"row 3: the time '2025-03-30 02:30:00' does not exist in Europe/Berlin"):
        read(tmp_path, text, BERLIN)
    assert len(read(tmp_path, text, UTC).series[0].times) == 2


# Numbers


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2"], [1.5, 2]),
        (["1.234,5", "1,234"], [1234.5, 1.234]),
        (["1,234.5", "1,234"], [1234.5, 1234]),
        (["1,234,567", "1,234"], [1234567, 1234]),
        (["0,123", "1,234"], [0.123, 1.234]),
        (["1 234,5", "2"], [1234.5, 2]),
        (["1'234.5", "12 345"], [1234.5, 12345]),
        (["1\u202f234", "7"], [1234, 7]),
        (["0.5", "1,234"], [0.5, 1234]),
        (["1e3", "1.5E-1"], [1000, 0.15]),
        (["+5", "-2.5"], [5, -2.5]),
    ],
)
def test_numbers_whose_file_shows_the_decimal_sign(tmp_path, cells, values):
    text = "time;a\n" + "".join(f"2025-10-20T06:{50 + i}Z;{cell}\n" for i, cell in enumerate(cells))
    assert read(tmp_path, text).series[0].values.tolist() == values


@pytest.mark.parametrize(("separator", "cell"), [(";", "1,234"), (",", '"1,234"'), (";", "1.234"), ("\t", "12.345")])
def test_a_decimal_sign_that_the_file_does_not_show_is_asked_about(tmp_path, separator, cell):
    text = f"time{separator}a{separator}b\n2025-10-20T06:50Z{separator}{cell}{separator}7\n"
    file = read(tmp_path, text)
    ask = next(remark for remark in file.remarks if remark.kind == "ask")
    plain = cell.strip('"')
    assert repr(plain) in ask.text
    assert by_title(file) == {"b": [7]}
    number = float(plain.replace(",", "."))
    for decimal in (".", ","):
        answered = read(tmp_path, text, decimal=decimal)
        want = number if decimal in plain else round(number * 1000)
        assert by_title(answered) == {"a": [want], "b": [7]}


def test_an_ask_with_nothing_else_still_gives_the_question(tmp_path):
    file = read(tmp_path, 'time,a\n2025-10-20T06:50Z,"1,234"\n')
    assert file.series == ()
    assert "can be 1234 or 1.234: 1 such" in file.remarks[0].text


def test_both_decimal_signs_in_one_file_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"'1,5' has a decimal comma and '1\.25' a decimal point"):
        read(tmp_path, "time;a\n2025-10-20T06:50Z;1,5\n2025-10-20T06:51Z;1.25\n")


def test_a_point_is_a_decimal_point_between_commas(tmp_path):
    file = read(tmp_path, "time,a\n2025-10-20T06:50Z,1.234\n2025-10-20T06:51Z,5.678\n")
    assert file.series[0].values.tolist() == [1.234, 5.678]
    assert file.remarks == ()


@pytest.mark.parametrize("cell", ["1_000", "0x10", "1.2.3", "٣", "12:30", "5%", "1,2,3"])
def test_what_only_looks_like_a_number(tmp_path, cell):
    rows = "".join(f"2025-10-20T06:{50 + i}Z;{i}\n" for i in range(5))
    file = read(tmp_path, f"time;a\n{rows}2025-10-20T06:58Z;{cell}\n")
    assert file.series[0].values.tolist() == [0, 1, 2, 3, 4]
    assert "refused" in kinds(file)
