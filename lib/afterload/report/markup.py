"""Write a page's HTML in the form that nbconvert gives its pages, without building a tree of it where it is plain.

nbconvert reads every page with Beautiful Soup and writes it again: so void elements end in ``/>``, text has the entities
of ``&``, ``<`` and ``>`` only, white space between elements is one character, attributes stand in the order of their
names, and a picture without an alternative text gets one. What Afterload writes needs little of that, and here gets it in
one pass. Everything that this pass does not know for sure, such as an element that is not closed or a comment, is left to
nbconvert.
"""

from __future__ import annotations

import re

__all__ = ["in_one_pass"]

# Elements that have no end tag: what both HTML and Beautiful Soup know as such.
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
# Elements whose content a parser reads by rules of its own, or that Beautiful Soup knows as void and HTML does not.
ODD = frozenset(
    "basefont bgsound command frame iframe image isindex keygen math menuitem nextid noembed noframes plaintext spacer svg "
    "template xmp".split()
)
RAW = frozenset({"script", "style"})
KEPT_SPACE = frozenset({"pre", "textarea"})
# Beautiful Soup takes these for lists, and writes the items with one space between.
LISTS = frozenset("accept-charset accesskey archive class dropzone for headers rel rev sandbox sizes".split())

_SPACE = " \n\t\f\r"
# The last one is the sign of the link to a heading.
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "#39": "'", "#34": '"', "#x27": "'", "#182": "\u00b6"}
_NAMES = "|".join(_CHARACTERS)
_ENTITY = re.compile(f"&({_NAMES});")
_TEXT = re.compile(f"(?:[^<>&]|&(?:{_NAMES});)+")
_VALUE = f'"((?:[^"<>&]|&(?:{_NAMES});)*)"'
_ATTRIBUTE = re.compile(rf"[ \n]+([a-z][a-z-]*)={_VALUE}")
_START = re.compile(rf"<([a-z][a-z0-9]*)((?:[ \n]+[a-z][a-z-]*={_VALUE})*)[ \n]*(/?)>")
_END = re.compile(r"</([a-z][a-z0-9]*)>")
_DOCTYPE = "<!DOCTYPE html>"


class _UnknownError(Exception):
    """Here is something that a parser has to look at."""


def in_one_pass(html: str) -> str | None:
    """HTML as :class:`nbconvert.exporters.html.HTMLExporter` would write it where that is plain; None for any other."""
    try:
        return "".join(_pieces(html))
    except _UnknownError:
        return None


def _pieces(html: str) -> list[str]:
    pieces: list[str] = []
    known: dict[str, tuple[str, str]] = {}
    stack: list[str] = []
    kept = 0
    place = 0
    if html.startswith(_DOCTYPE):
        # Beautiful Soup ends the line, and then keeps the end of line that was there.
        pieces.append(f"{_DOCTYPE}\n")
        place = len(_DOCTYPE)
    while place < len(html):
        if html[place] != "<":
            match = _TEXT.match(html, place)
            if match is None:
                raise _UnknownError
            pieces.append(_text(match[0], kept > 0))
            place = match.end()
            if html[place : place + 1] not in ("<", ""):
                raise _UnknownError
        elif html.startswith("</", place):
            match = _END.match(html, place)
            if match is None or not stack or stack.pop() != match[1]:
                raise _UnknownError
            kept -= match[1] in KEPT_SPACE
            pieces.append(match[0])
            place = match.end()
        else:
            end = html.find(">", place) + 1
            tag = html[place:end]
            if tag not in known:
                known[tag] = _start(tag)
            name, written = known[tag]
            pieces.append(written)
            place = end
            if name in RAW:
                place, content = _raw(html, place, name)
                pieces += (_text_as_it_is(content, kept > 0), f"</{name}>")
            elif name:
                stack.append(name)
                kept += name in KEPT_SPACE
    if stack:
        raise _UnknownError
    return pieces


def _start(tag: str) -> tuple[str, str]:
    """The name of an element that is open after this tag, and the tag as it is written."""
    match = _START.fullmatch(tag)
    if match is None or match[1] in ODD:
        raise _UnknownError
    name, is_closed = match[1], match[4] == "/"
    attributes = [(found[1], _read(found[2])) for found in _ATTRIBUTE.finditer(match[2])]
    names = {key for key, _ in attributes}
    if len(names) < len(attributes) or (name == "img" and "alt" not in names) or (is_closed and name not in VOID):
        raise _UnknownError
    for key, value in attributes:
        if key in LISTS and (not value or value != " ".join(value.split())):
            raise _UnknownError
        # Beautiful Soup would fill in the encoding of the page.
        if name == "meta" and ((key == "charset" and value != "utf-8") or "charset=" in value.lower()):
            raise _UnknownError
    written = "".join(f" {key}={_quoted(value)}" for key, value in sorted(attributes))
    return ("", f"<{name}{written}/>") if name in VOID else (name, f"<{name}{written}>")


def _raw(html: str, place: int, name: str) -> tuple[int, str]:
    """The content of a script or a style, and the place behind its end tag."""
    close = f"</{name}>"
    end = html.find(close, place)
    content = html[place:end]
    if end < 0 or re.search(f"</{name}", content, re.IGNORECASE):
        raise _UnknownError
    return end + len(close), content


def _text_as_it_is(text: str, is_kept: bool) -> str:
    return text if is_kept or text.strip(_SPACE) else _one_space(text)


def _text(text: str, is_kept: bool) -> str:
    return _escaped(_read(text)) if "&" in text else _text_as_it_is(text, is_kept)


def _one_space(text: str) -> str:
    return "\n" if "\n" in text else " " if text else ""


def _read(text: str) -> str:
    return _ENTITY.sub(lambda match: _CHARACTERS[match[1]], text) if "&" in text else text


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(value: str) -> str:
    escaped = _escaped(value)
    if '"' not in value:
        return f'"{escaped}"'
    if "'" not in value:
        return f"'{escaped}'"
    return '"' + escaped.replace('"', "&quot;") + '"'
