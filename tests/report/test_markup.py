"""Pages written in one pass, against Beautiful Soup, which nbconvert uses."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st

from afterload.report.markup import in_one_pass

PLAIN = """<!DOCTYPE html>
<html lang="en">
 <head>
  <meta charset="utf-8" /><title>a &lt; &quot;b&quot;</title><style>p > a { color: red }
</style><script>if (1 < 2 && '</p>') x();</script></head><body class="a b" id="x">
<h2 id="T">T<a href="#T" class="anchor-link">&#182;</a></h2>


<p>one<br>two<br/> &amp; &#39;three&#x27;</p>   <pre>

  </pre><img src="data:," alt="the &quot;x&quot;"><img alt="it's &quot;so&quot;" src="x"/><i title="&gt;"></i></body></html>
"""
TAGS = "p b pre table td script style textarea br img hr title svg iframe h1 template".split()
VALUES = [
    "", "a", "a b", " a", "a  b", "it's", "&quot;", "&amp;amp;", "&#39;&quot;", "&nbsp;", "<", "a=b", "utf-8",
    "text/html; charset=x",
]  # fmt: skip
ATTRIBUTES = "class id alt rel charset content Title data-x aria-label headers".split()
TEXTS = [
    "", " ", "\n", " \n ", "\r", "\t", "\xa0", "a", "&", "&amp;", "&lt", "&lt;b", "&#182;", "&#182", "&#150;", "&nbsp;", "&quot;",
    ">", "<", "<!--x-->", "<!-- <script> -->", "</", "<?x?>", "<![CDATA[x]]>", "<!DOCTYPE html>", "é ü 注", "a\x00b", "&#x27;",
    "--", "]]>",
]  # fmt: skip


def through_a_tree(html: str) -> str:
    """What nbconvert 7.17 does with a page, but for its own classes."""
    soup = BeautifulSoup(html, features="html.parser")
    for picture in soup.select("img:not([alt])"):
        picture.attrs["alt"] = "No description has been provided for this image"
    return str(soup)


attributes = st.lists(
    st.builds(
        '{0}{1}="{2}"'.format, st.sampled_from([" ", "  ", "\n"]), st.sampled_from(ATTRIBUTES), st.sampled_from(VALUES)
    )
    | st.sampled_from([" hidden", " id=x", " id='y'", "/"]),
    max_size=3,
).map("".join)
opening = st.builds("<{0}{1}{2}>".format, st.sampled_from(TAGS), attributes, st.sampled_from(["", " ", "/", " /"]))
closing = st.builds("</{0}{1}>".format, st.sampled_from(TAGS), st.sampled_from(["", " "]))
text = st.sampled_from(TEXTS)


def element(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("<{0}{1}>{2}</{0}>".format, st.sampled_from(TAGS), attributes, inner)


nested = st.recursive(
    text | opening, lambda inner: st.lists(element(inner) | inner, max_size=3).map("".join), max_leaves=12
)
soup_of_tags = st.lists(opening | closing | text, max_size=10).map("".join)


def test_a_plain_page_is_written_in_one_pass() -> None:
    found = in_one_pass(PLAIN)
    assert found is not None
    assert found == through_a_tree(PLAIN)
    assert '<meta charset="utf-8"/>' in found
    assert "<br/>two<br/>" in found


@given(nested | soup_of_tags)
@settings(max_examples=200, deadline=None)
def test_it_is_what_beautiful_soup_writes_or_left_to_it(html: str) -> None:
    found = in_one_pass(html)
    assert found is None or found == through_a_tree(html)


@pytest.mark.parametrize(
    "html",
    ["<p>a", "a</p>", "<b><i></b></i>", "<p/>", "<img>", "<!-- x -->", "<p title='x'>", "<P></P>", "a & b", "a > b",
     "<p id=x></p>", '<p id="a" id="b"></p>', '<p class=" a"></p>', "<br></br>", '<meta charset="latin-1">', "<script>",
     "<svg></svg>"],
)  # fmt: skip
def test_what_needs_a_parser_is_left_to_one(html: str) -> None:
    assert in_one_pass(html) is None
