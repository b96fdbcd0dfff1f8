// Sorts, searches and filters the portfolio. Everything it needs is in the table.
(function () {
  "use strict";
  var table = document.getElementById("portfolio");
  var tools = document.querySelector(".af-tools");
  if (!table || !tools) return;
  var body = table.tBodies[0];
  var heads = Array.from(table.tHead.rows[0].cells);
  var rows = Array.from(body.rows).map(function (row, place) {
    return { row: row, place: place, text: null, flags: " " + row.dataset.flags + " ", keys: [] };
  });
  var frame = table.parentNode;
  var collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  // Search looks at names, not at numbers.
  var searched = heads.reduce(function (places, head, place) {
    return head.dataset.search === undefined ? places : places.concat(place);
  }, []);

  // Letters that are no other letter with a mark, as they are typed without them.
  var plain = { "\u00df": "ss", "\u00e6": "ae", "\u0153": "oe", "\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u00f0": "d", "\u00fe": "th", "\u0131": "i" };

  function folded(text) {
    return text
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .replace(/[\u00df\u00e6\u0153\u00f8\u0142\u0111\u00f0\u00fe\u0131]/g, function (letter) {
        return plain[letter];
      });
  }

  // What a row is sorted by in a column: a number, text, or null where it has nothing there.
  function key(item, column) {
    if (item.keys[column] === undefined) {
      var cell = item.row.cells[column];
      if (heads[column].dataset.kind === "num") {
        item.keys[column] = cell.dataset.sort === undefined ? null : Number(cell.dataset.sort);
      } else {
        var holder = cell.querySelector("bdi");
        item.keys[column] = holder ? holder.textContent : null;
      }
    }
    return item.keys[column];
  }

  // A thousand rows take longer to lay out than a press of a key may: what no screen shows yet follows in parts, each after
  // a picture of what is there.
  var PART = 100;
  var later = [];
  var turn = 0;

  function layOut() {
    later = rows
      .filter(function (item) {
        return !item.row.hidden;
      })
      .filter(function (item, place) {
        item.row.classList.toggle("af-later", place >= PART);
        return place >= PART;
      });
    turn += 1;
    layOutNext(turn);
  }

  function uncover(items) {
    items.forEach(function (item) {
      item.row.classList.remove("af-later");
    });
  }

  function layOutNext(own) {
    if (!later.length) frame.style.minHeight = "";
    else
      window.requestAnimationFrame(function () {
        window.setTimeout(function () {
          if (own !== turn) return;
          uncover(later.splice(0, PART));
          layOutNext(own);
        });
      });
  }

  function sortBy(column, descending) {
    var isNumber = heads[column].dataset.kind === "num";
    rows.sort(function (one, other) {
      var a = key(one, column);
      var b = key(other, column);
      if (a === null || b === null) {
        // A row without a value comes last in both directions.
        return (a === null) - (b === null) || one.place - other.place;
      }
      var order = isNumber ? (a === b ? 0 : a < b ? -1 : 1) : collator.compare(a, b);
      return (descending ? -order : order) || one.place - other.place;
    });
    // Whoever has scrolled down stays there while the rows below follow.
    frame.style.minHeight = frame.offsetHeight + "px";
    var sorted = document.createDocumentFragment();
    rows.forEach(function (item) {
      sorted.appendChild(item.row);
    });
    layOut();
    body.appendChild(sorted);
    heads.forEach(function (head, place) {
      if (place === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  heads.forEach(function (head, column) {
    var button = document.createElement("button");
    button.type = "button";
    button.append.apply(button, Array.from(head.childNodes));
    head.appendChild(button);
    button.addEventListener("click", function () {
      var now = head.getAttribute("aria-sort");
      // The first press puts what asks for attention on top: large numbers, or names from A.
      sortBy(column, now ? now === "ascending" : head.dataset.kind === "num");
    });
  });

  var search = tools.elements.namedItem("search");
  var count = tools.querySelector(".af-count");

  function show() {
    var words = folded(search.value).split(/\s+/).filter(Boolean);
    var flag = tools.elements.namedItem("show").value;
    var shown = 0;
    rows.forEach(function (item) {
      if (words.length && item.text === null) {
        item.text = folded(
          searched
            .map(function (place) {
              return Array.from(item.row.cells[place].querySelectorAll("bdi"), function (part) {
                return part.textContent;
              }).join(" ");
            })
            .join(" ")
        );
      }
      var fits =
        (!flag || item.flags.indexOf(" " + flag + " ") >= 0) &&
        words.every(function (word) {
          return item.text.indexOf(word) >= 0;
        });
      item.row.hidden = !fits;
      if (fits) shown += 1;
    });
    layOut();
    var all = rows.length.toLocaleString("en") + (rows.length === 1 ? " team" : " teams");
    count.textContent = shown === rows.length ? all : shown.toLocaleString("en") + " of " + all;
  }

  tools.addEventListener("input", show);
  tools.addEventListener("change", show);
  tools.addEventListener("submit", function (event) {
    event.preventDefault();
  });
  tools.hidden = false;
  show();

  // On paper nothing is folded away.
  window.addEventListener("beforeprint", function () {
    uncover(later.splice(0));
    document.querySelectorAll("details").forEach(function (item) {
      item.dataset.wasOpen = String(item.open);
      item.open = true;
    });
  });
  window.addEventListener("afterprint", function () {
    document.querySelectorAll("details").forEach(function (item) {
      item.open = item.dataset.wasOpen === "true";
    });
  });
})();
