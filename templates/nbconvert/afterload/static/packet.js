// Draws the charts of a packet and writes its table of contents. Everything it needs is in the page.
(function () {
  "use strict";
  var root = document.documentElement;
  // Sizes that read well on a projector; what a chart says itself comes before these.
  var TEXT = { labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600 };
  var LOOK = {
    font: "system-ui, sans-serif",
    axis: Object.assign({ labelColor: "#3c434b", titleColor: "#1b1f24", gridColor: "#e6e9ed", labelSeparation: 6 }, TEXT),
    legend: TEXT,
    header: TEXT,
    title: { fontSize: 14, fontWeight: 650, anchor: "start" },
    view: { stroke: "#d5dae0" },
  };

  // On a phone, row names and legends must leave room for the chart, and long axis titles need two lines.
  var NARROW_PX = 520;
  var TITLE_CHARACTERS = 26;
  var NARROW_LOOK = Object.assign({}, LOOK, {
    axisX: { labelBound: 4 },
    axisY: { labelLimit: 130 },
    legend: Object.assign({ columns: 1, labelLimit: 170 }, TEXT),
  });

  function fold(title) {
    return title.split(" ").reduce(function (lines, word) {
      var last = lines[lines.length - 1];
      if (last && last.length + word.length >= TITLE_CHARACTERS) lines.push(word);
      else lines[lines.length - 1] = last ? last + " " + word : word;
      return lines;
    }, [""]);
  }

  // The same chart for a narrow page: what it says about widths gives way to NARROW_LOOK.
  function narrowed(part) {
    if (Array.isArray(part)) return part.map(narrowed);
    if (!part || typeof part !== "object") return part;
    var result = {};
    Object.keys(part).forEach(function (key) {
      // Rows of data are not ours to change.
      result[key] = key === "data" || key === "datasets" ? part[key] : narrowed(part[key]);
    });
    var channels = result.encoding || {};
    [channels.x, channels.x && channels.x.axis].forEach(function (holder) {
      if (holder && typeof holder.title === "string") holder.title = fold(holder.title);
    });
    if (channels.y && channels.y.axis) delete channels.y.axis.labelLimit;
    Object.keys(channels).forEach(function (name) {
      if (channels[name] && channels[name].legend) delete channels[name].legend.columns;
    });
    return result;
  }

  function say(figure, error) {
    var box = document.createElement("p");
    box.className = "af-error af-chart-error";
    box.textContent = "This chart could not be drawn: " + (error && error.message ? error.message : error);
    figure.querySelector(".af-canvas").replaceChildren(box);
    figure.setAttribute("role", "group");
  }

  // A label beside a line near the right edge would be cut off: it goes to the other side of its line.
  function turnLabels(figure) {
    var edge = figure.querySelector(".af-canvas").getBoundingClientRect().right;
    figure.querySelectorAll(".mark-text.role-mark text").forEach(function (label) {
      if (label.getBoundingClientRect().right <= edge) return;
      label.setAttribute("text-anchor", "end");
      label.setAttribute("dx", "-8");
    });
  }

  function draw(figure) {
    return Promise.resolve()
      .then(function () {
        var spec = JSON.parse(figure.querySelector("script").textContent);
        // Options inside the data must not switch menus or outside renderers on again.
        delete spec.usermeta;
        var canvas = figure.querySelector(".af-canvas");
        canvas.replaceChildren();
        // Notebooks need a width; one that fits its chart into it is as well served by the width of the page.
        if (spec.autosize && spec.autosize.type === "fit-x") spec.width = "container";
        var narrow = canvas.clientWidth < NARROW_PX;
        if (narrow) {
          spec = narrowed(spec);
          if (spec.config && spec.config.legend) delete spec.config.legend.labelLimit;
        }
        return vegaEmbed(canvas, spec, {
          mode: "vega-lite",
          ast: true,
          renderer: "svg",
          actions: false,
          config: narrow ? NARROW_LOOK : LOOK,
        });
      })
      .then(
        function () {
          turnLabels(figure);
          return true;
        },
        function (error) {
          say(figure, error);
          return false;
        }
      );
  }

  function writeContents() {
    var nav = document.querySelector(".af-contents");
    var top = document.body.classList.contains("af-titled") ? 2 : 1;
    var headings = document.querySelectorAll("main .af-prose h" + top + ", main .af-prose h" + (top + 1));
    if (!nav || headings.length < 2) return;
    var used = Object.create(null);
    var list = document.createElement("ol");
    var inner = null;
    headings.forEach(function (heading) {
      var anchor = heading.querySelector("a.anchor-link");
      if (anchor) anchor.remove();
      // Two chapters may hold the same heading: each needs an id of its own.
      var base = heading.id || heading.textContent.trim().replace(/\s+/g, "-");
      var id = base;
      for (var n = 2; used[id]; n += 1) id = base + "-" + n;
      used[id] = true;
      heading.id = id;
      var link = document.createElement("a");
      link.href = "#" + encodeURIComponent(id);
      link.textContent = heading.textContent;
      var item = document.createElement("li");
      item.appendChild(link);
      if (heading.tagName === "H" + top || !list.lastElementChild) {
        list.appendChild(item);
        inner = null;
      } else {
        if (!inner) {
          inner = document.createElement("ol");
          list.lastElementChild.appendChild(inner);
        }
        inner.appendChild(item);
      }
    });
    var label = document.createElement("p");
    label.className = "af-contents-label";
    label.textContent = nav.getAttribute("aria-label");
    nav.replaceChildren(label, list);
    nav.hidden = false;
  }

  // A table wider than the page scrolls in its own frame; the keyboard must reach it.
  function reachFrames() {
    document.querySelectorAll(".af-html").forEach(function (frame) {
      if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
      else frame.removeAttribute("tabindex");
    });
  }

  writeContents();
  reachFrames();
  window.addEventListener("resize", reachFrames);
  Promise.all(Array.from(document.querySelectorAll(".af-chart"), draw)).then(function (drawn) {
    var done = drawn.filter(Boolean).length;
    root.dataset.chartsFailed = String(drawn.length - done);
    root.dataset.chartsDrawn = String(done);
  });
})();
