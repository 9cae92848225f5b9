"use strict";
// Draws the charts of the page from the data in it. Colours are those of the style sheet, in light and dark.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (x, digits = 4) => (x === null || !isFinite(x) ? "–" : String(+x.toPrecision(digits)));
  const percent = (x) => `${(100 * x).toFixed(x > 0 && x < 0.1 ? 2 : 1)} %`;

  // ---- elements ----------------------------------------------------------------------------------
  // Text is only ever set as text: names of columns and classes are data, whatever they look like.
  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }
  const svg = (tag, attributes, ...children) =>
    filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const html = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

  // ---- what the pointer is on --------------------------------------------------------------------
  const tip = html("div", { class: "tip", role: "status", hidden: "" });
  document.body.append(tip);
  function show(event, lines) {
    tip.replaceChildren(...lines.map((line) => html("div", {}, line)));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const left = Math.max(6, Math.min(event.clientX + 14, wide - box.width - 6));
    const above = event.clientY - box.height - 14;
    tip.style.left = `${left}px`;
    tip.style.top = `${above < 6 ? event.clientY + 18 : above}px`;
  }
  const hide = () => (tip.hidden = true);
  addEventListener("scroll", hide, { passive: true });
  addEventListener("keydown", (event) => event.key === "Escape" && hide());

  // ---- axes --------------------------------------------------------------------------------------
  function ticks(low, high, about = 5) {
    const rough = (high - low) / about;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 2.5, 5, 10].find((times) => times * unit >= rough * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) found.push(+(i * step).toPrecision(12));
    return found;
  }

  // A frame with room for labels; x and y take values to pixels, back takes pixels to values.
  function frame(node, { x, y, labels, ratio = 0.86, most = 520, say }) {
    const wide = Math.max(240, Math.min(node.clientWidth || 360, most));
    const high = Math.round(wide * ratio);
    const letters = Math.max(...ticks(...y).map((v) => number(v).length));
    const room = { left: 28 + 7 * Math.max(letters, 3), right: 10, top: 8, bottom: 42 };
    const inner = { wide: wide - room.left - room.right, high: high - room.top - room.bottom };
    const to = {
      x: (v) => room.left + ((v - x[0]) / (x[1] - x[0])) * inner.wide,
      y: (v) => room.top + (1 - (v - y[0]) / (y[1] - y[0])) * inner.high,
    };
    const grid = svg("g", { class: "grid" });
    for (const v of ticks(...x)) {
      grid.append(
        svg("line", { x1: to.x(v), x2: to.x(v), y1: room.top, y2: room.top + inner.high }),
        svg("text", { x: to.x(v), y: high - room.bottom + 16, "text-anchor": "middle" }, number(v)),
      );
    }
    for (const v of ticks(...y)) {
      grid.append(
        svg("line", { x1: room.left, x2: room.left + inner.wide, y1: to.y(v), y2: to.y(v) }),
        svg("text", { x: room.left - 7, y: to.y(v) + 4, "text-anchor": "end" }, number(v)),
      );
    }
    const middle = room.top + inner.high / 2;
    grid.append(
      svg("text", { class: "label", x: room.left + inner.wide / 2, y: high - 6, "text-anchor": "middle" }, labels[0]),
      svg("text", { class: "label", x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${middle}) rotate(-90)` }, labels[1]),
    );
    const root = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-label": say }, grid);
    const back = (event) => {
      const box = root.getBoundingClientRect();
      const scale = wide / box.width;
      return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    };
    node.replaceChildren(root);
    return { root, to, room, inner, wide, high, back };
  }
  const path = (to, xs, ys) => xs.map((x, i) => `${i ? "L" : "M"}${to.x(x).toFixed(1)} ${to.y(ys[i]).toFixed(1)}`).join("");

  // The nearest of some points to the pointer is marked, and said.
  function nearest(at, points, say) {
    const mark = svg("circle", { class: "mark", r: 5, visibility: "hidden" });
    at.root.append(mark);
    at.root.addEventListener("pointermove", (event) => {
      const [px, py] = at.back(event);
      let best = null;
      let least = 60 ** 2;
      for (const point of points) {
        const d = (at.to.x(point.x) - px) ** 2 + (at.to.y(point.y) - py) ** 2;
        if (d < least) [least, best] = [d, point];
      }
      mark.setAttribute("visibility", best ? "visible" : "hidden");
      if (!best) return hide();
      mark.setAttribute("cx", at.to.x(best.x));
      mark.setAttribute("cy", at.to.y(best.y));
      show(event, say(best));
    });
    at.root.addEventListener("pointerleave", () => {
      mark.setAttribute("visibility", "hidden");
      hide();
    });
  }

  // ---- how well classes are told apart -----------------------------------------------------------
  let only = null; // the one class whose curves are drawn, of more than two

  function roc(node, model) {
    const two = data.classes.length === 2;
    const curves = model.roc.filter((curve) => two || only === null || curve.k === only);
    const say = curves.length
      ? `ROC of ${model.name}: ` + curves.map((c) => `${data.classes[c.k]} AUC ${c.auc}`).join(", ")
      : `${model.name} has no ROC curve`;
    const labels = two
      ? ["false positive rate", `true positive rate (${data.classes[1]})`]
      : ["false positive rate", "true positive rate"];
    const at = frame(node, { x: [0, 1], y: [0, 1], labels: labels.map(cut), say });
    at.root.append(svg("path", { class: "chance", d: path(at.to, [0, 1], [0, 1]) }));
    if (two || only !== null) {
      for (const other of data.evaluated.models) {
        const curve = other.roc.find((each) => two || each.k === only);
        if (other !== model && curve) at.root.append(svg("path", { class: "faint", d: path(at.to, curve.x, curve.y) }));
      }
    }
    const points = [];
    for (const curve of curves) {
      at.root.append(svg("path", { class: `curve line-${two ? 0 : color(curve.k)}`, d: path(at.to, curve.x, curve.y) }));
      curve.x.forEach((x, i) => points.push({ x, y: curve.y[i], curve }));
    }
    if (!curves.length) return absent(at, "no scores: no curve");
    return nearest(at, points, ({ x, y, curve }) => [
      two ? model.name : data.classes[curve.k],
      `true positives ${percent(y)}, false positives ${percent(x)}`,
      `AUC ${curve.auc}`,
    ]);
  }

  // Classes by colour, their AUC; each may be looked at alone.
  function key(node, model) {
    if (data.classes.length === 2) {
      const curve = model.roc[0];
      return node.replaceChildren(curve ? `AUC ${curve.auc} over all held-out rows; grey: the other models` : "");
    }
    const buttons = model.roc.map((curve) => {
      const pressed = only === curve.k;
      const button = html(
        "button",
        { type: "button", "aria-pressed": pressed },
        html("i", { class: `fill-${color(curve.k)}` }),
        `${data.classes[curve.k]} `,
        html("span", {}, String(curve.auc)),
      );
      button.addEventListener("click", () => {
        only = pressed ? null : curve.k;
        evaluated();
        find(`button:nth-of-type(${model.roc.indexOf(curve) + 1})`, node).focus();
      });
      return button;
    });
    const hidden = data.classes.length - data.evaluated.curved.length;
    const more = hidden > 0 ? html("span", { class: "more" }, `and ${hidden} rarer classes, not drawn`) : null;
    return node.replaceChildren(...buttons, ...(more ? [more] : []));
  }

  const color = (k) => k % data.colours;
  const cut = (text) => (text.length > 48 ? `${text.slice(0, 47)}…` : text);
  function absent(at, why) {
    const [x, y] = [at.room.left + at.inner.wide / 2, at.room.top + at.inner.high / 2];
    at.root.append(svg("text", { class: "absent", x, y, "text-anchor": "middle" }, why));
  }

  function calibration(node, model) {
    const two = data.classes.length === 2;
    const what = two ? data.classes[1] : "the predicted class";
    const found = model.calibration;
    const say = found ? `Calibration of ${model.name}: expected calibration error ${found.off}` : `${model.name} gives no probabilities`;
    const labels = [`predicted probability of ${what}`, two ? `observed frequency of ${what}` : "share of correct predictions"];
    const at = frame(node, { x: [0, 1], y: [0, 1], labels: labels.map(cut), say });
    at.root.append(svg("path", { class: "chance", d: path(at.to, [0, 1], [0, 1]) }));
    if (!found) return absent(at, "no probabilities");
    for (const other of data.evaluated.models) {
      if (other === model || !other.calibration) continue;
      at.root.append(svg("path", { class: "faint", d: path(at.to, other.calibration.p, other.calibration.rate) }));
    }
    found.p.forEach((p, i) => {
      const x = at.to.x(p);
      at.root.append(svg("line", { class: "interval line-0", x1: x, x2: x, y1: at.to.y(found.low[i]), y2: at.to.y(found.high[i]) }));
    });
    at.root.append(svg("path", { class: "curve line-0", d: path(at.to, found.p, found.rate) }));
    const points = found.p.map((x, i) => ({ x, y: found.rate[i], i }));
    for (const { x, y } of points) at.root.append(svg("circle", { class: "dot fill-0", cx: at.to.x(x), cy: at.to.y(y), r: 3.5 }));
    return nearest(at, points, ({ x, y, i }) => [
      `predicted ${percent(x)}, observed ${percent(y)}`,
      `95 %: ${percent(found.low[i])} to ${percent(found.high[i])}`,
      `${number(found.n[i])} rows`,
    ]);
  }

  function confusion(node, model) {
    const names = data.evaluated.squares.map((k) => data.classes[k]);
    if (model.confusion.length > names.length) names.push("others");
    const head = html("tr", {}, html("td", {}), ...names.map((name) => html("th", { scope: "col" }, name)));
    const rows = model.confusion.map((row, i) => {
      const sum = row.reduce((a, b) => a + b, 0);
      const cells = row.map((n, j) => {
        const share = sum ? n / sum : 0;
        const kind = i === j ? "right" : "wrong";
        const cell = html("td", { class: `${kind}${n ? "" : " none"}`, style: `--share: ${Math.sqrt(share).toFixed(3)}` }, number(n, 6));
        cell.addEventListener("pointermove", (event) =>
          show(event, [`true ${names[i]}, predicted ${names[j]}`, `${number(n, 6)} rows, ${percent(share)} of ${names[i]}`]),
        );
        cell.addEventListener("pointerleave", hide);
        return cell;
      });
      return html("tr", {}, html("th", { scope: "row" }, names[i]), ...cells);
    });
    const caption = html("caption", {}, "rows: true class; columns: predicted class");
    node.replaceChildren(html("table", { class: `confusion${names.length > 12 ? " many" : ""}` }, caption, html("thead", {}, head), html("tbody", {}, ...rows)));
  }

  function evaluated() {
    const model = data.evaluated.models[+find("#model").value];
    roc(find("#roc"), model);
    key(find("#roc-key"), model);
    calibration(find("#calibration"), model);
    confusion(find("#confusion"), model);
  }

  // ---- two columns -------------------------------------------------------------------------------
  const SHAPES = [
    (c, x, y, r) => c.arc(x, y, r, 0, 7),
    (c, x, y, r) => ngon(c, x, y, r * 1.25, 3, -Math.PI / 2),
    (c, x, y, r) => c.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8),
    (c, x, y, r) => ngon(c, x, y, r * 1.25, 4, 0),
    (c, x, y, r) => ngon(c, x, y, r * 1.25, 3, Math.PI / 2),
    (c, x, y, r) => cross(c, x, y, r * 1.1, 0),
    (c, x, y, r) => cross(c, x, y, r * 1.1, Math.PI / 4),
    (c, x, y, r) => star(c, x, y, r * 1.45),
    (c, x, y, r) => ngon(c, x, y, r * 1.25, 3, Math.PI),
  ];
  function ngon(c, x, y, r, n, turn) {
    for (let i = 0; i <= n; i++) {
      const a = turn + (2 * Math.PI * i) / n;
      c[i ? "lineTo" : "moveTo"](x + r * Math.cos(a), y + r * Math.sin(a));
    }
  }
  function star(c, x, y, r) {
    for (let i = 0; i <= 10; i++) {
      const [a, size] = [(Math.PI * i) / 5 - Math.PI / 2, i % 2 ? r * 0.45 : r];
      c[i ? "lineTo" : "moveTo"](x + size * Math.cos(a), y + size * Math.sin(a));
    }
  }
  function cross(c, x, y, r, turn) {
    const [a, b] = [r, r / 2.6];
    const corners = [[a, b], [b, b], [b, a], [-b, a], [-b, b], [-a, b], [-a, -b], [-b, -b], [-b, -a], [b, -a], [b, -b], [a, -b]];
    corners.forEach(([u, v], i) => {
      const [s, t] = [u * Math.cos(turn) - v * Math.sin(turn), u * Math.sin(turn) + v * Math.cos(turn)];
      c[i ? "lineTo" : "moveTo"](x + s, y + t);
    });
    c.closePath();
  }

  // A grid in bytes: the likeliest class; -ln(1 - p) of it, and its lead in log odds, both as roots in 16 bits.
  function opened(model) {
    if (model.opened) return model.opened;
    const bytes = Uint8Array.from(atob(model.map), (c) => c.charCodeAt(0));
    const n = data.planes.grid ** 2;
    const value = (i) => data.planes.far * ((bytes[i] + 256 * bytes[i + 1]) / 65535) ** 2 + 1e-6;
    const [doubt, lead] = [n, 3 * n].map((start) => Float32Array.from({ length: n }, (_, i) => value(start + 2 * i)));
    return (model.opened = { k: bytes.subarray(0, n), doubt, lead });
  }

  // The class at a point between four of the grid: that whose lead, others' negative, is the largest there.
  function asker(model) {
    const { k, doubt, lead } = opened(model);
    const G = data.planes.grid;
    const two = data.classes.length === 2;
    return (u, v) => {
      const x = Math.min(u * (G - 1), G - 1.001);
      const y = Math.min(v * (G - 1), G - 1.001);
      const [i, j] = [x | 0, y | 0];
      const [s, t] = [x - i, y - j];
      const at = [j * G + i, j * G + i + 1, (j + 1) * G + i, (j + 1) * G + i + 1];
      const share = [(1 - s) * (1 - t), s * (1 - t), (1 - s) * t, s * t];
      let [best, most] = [-1, -Infinity];
      for (const here of at) {
        if (k[here] === best) continue;
        let sum = 0;
        for (let m = 0; m < 4; m++) sum += share[m] * (k[at[m]] === k[here] ? lead[at[m]] : -lead[at[m]]);
        if (sum > most) [most, best] = [sum, k[here]];
      }
      if (two && model.sure) return [best, 1 / (1 + Math.exp(-most))];
      let sum = 0; // where another class is the likeliest, 1 - p is at least its probability
      for (let m = 0; m < 4; m++) sum += share[m] * (k[at[m]] === best ? doubt[at[m]] : -Math.log1p(-Math.exp(-doubt[at[m]])));
      return [best, 1 - Math.exp(-sum)];
    };
  }

  const BANDS = [0.6, 0.75, 0.9, 0.99]; // probabilities between which the tint is one
  const band = (p) => BANDS.filter((level) => p >= level).length;
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const mixed = (one, other, share) => one.map((c, i) => c + (other[i] - c) * share);

  function plane(node, pair, model) {
    const say = `Regions of ${model.name} over ${pair.names[0]} and ${pair.names[1]}: ${percent(model.error)} mistaken`;
    const at = frame(node, { x: pair.ends[0], y: pair.ends[1], labels: pair.names.map(cut), say, most: 620 });
    const fine = 2;
    const [wide, high] = [Math.round(at.inner.wide * fine), Math.round(at.inner.high * fine)];
    const canvas = html("canvas", { width: wide, height: high, "aria-hidden": "true" });
    const hold = html("div", { class: "plane" }, canvas, at.root);
    canvas.style.cssText = `left:${(100 * at.room.left) / at.wide}%;top:${(100 * at.room.top) / at.high}%;width:${(100 * at.inner.wide) / at.wide}%;height:${(100 * at.inner.high) / at.high}%`;
    hold.style.maxWidth = `${at.wide}px`;
    node.replaceChildren(hold);
    const ask = asker(model);
    paint(canvas.getContext("2d"), wide, high, ask, model.sure);
    dots(canvas.getContext("2d"), wide, high, pair, fine);
    at.root.addEventListener("pointermove", (event) => {
      const [px, py] = at.back(event);
      const [u, v] = [(px - at.room.left) / at.inner.wide, 1 - (py - at.room.top) / at.inner.high];
      if (u < 0 || u > 1 || v < 0 || v > 1) return hide();
      const [k, p] = ask(u, v);
      const value = (end, share) => number(end[0] + (end[1] - end[0]) * share, 3);
      const head = model.sure ? `${data.classes[k]}, p = ${p > 0.999 ? "> 0.999" : number(p, 3)}` : data.classes[k];
      return show(event, [head, `${pair.names[0]} ${value(pair.ends[0], u)}`, `${pair.names[1]} ${value(pair.ends[1], v)}`]);
    });
    at.root.addEventListener("pointerleave", hide);
  }

  function paint(context, wide, high, ask, sure) {
    const paper = rgb(style("--paper"));
    const ink = rgb(style("--ink"));
    const tints = data.classes.map((_, k) => {
      const full = rgb(style(`--c${color(k)}`));
      return { bands: [0.1, 0.17, 0.26, 0.36, 0.46].map((share) => mixed(paper, full, share)), line: mixed(paper, full, 0.85) };
    });
    const ks = new Uint8Array(wide * high);
    const bands = new Uint8Array(wide * high);
    for (let y = 0; y < high; y++) {
      for (let x = 0; x < wide; x++) {
        const [k, p] = ask((x + 0.5) / wide, 1 - (y + 0.5) / high);
        ks[y * wide + x] = k;
        bands[y * wide + x] = sure ? band(p) : 2;
      }
    }
    const image = context.createImageData(wide, high);
    for (let y = 0; y < high; y++) {
      for (let x = 0; x < wide; x++) {
        const i = y * wide + x;
        const near = [x ? i - 1 : i, y ? i - wide : i, x + 1 < wide ? i + 1 : i];
        const tint = tints[ks[i]];
        let shade = tint.bands[bands[i]];
        if (near.some((j) => ks[j] !== ks[i])) shade = mixed(paper, ink, 0.8);
        else if (near.slice(0, 2).some((j) => bands[j] !== bands[i])) shade = tint.line;
        image.data.set([...shade, 255], 4 * i);
      }
    }
    context.putImageData(image, 0, 0);
  }

  function dots(context, wide, high, pair, fine) {
    const paper = style("--paper");
    context.lineWidth = 1.2 * fine;
    context.strokeStyle = paper;
    pair.points.x.forEach((value, i) => {
      const k = pair.points.k[i];
      const x = ((value - pair.ends[0][0]) / (pair.ends[0][1] - pair.ends[0][0])) * wide;
      const y = (1 - (pair.points.y[i] - pair.ends[1][0]) / (pair.ends[1][1] - pair.ends[1][0])) * high;
      context.beginPath();
      SHAPES[k % SHAPES.length](context, x, y, 3.4 * fine);
      context.stroke();
      context.fillStyle = style(`--c${color(k)}`);
      context.fill();
    });
  }

  function planes() {
    const pair = data.planes.pairs[+find("#pair").value];
    data.planes.panels.forEach((_, i) => {
      const model = pair.models[+find(`#plane-${i}-model`).value];
      plane(find(`#plane-${i}`), pair, model);
      const loss = model.loss === null ? "" : `, log-loss ${number(model.loss)}`;
      find(`#plane-${i}-said`).textContent = `With these two columns alone: error ${percent(model.error)}${loss}.`;
    });
  }

  // ---- numbers to be found -----------------------------------------------------------------------
  const ends = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = 0.05 * (high - low || 1);
    return [low - room, high + room];
  };

  function residuals() {
    const { y, models } = data.residuals;
    const model = models[+find("#model").value];
    const both = ends([...y, ...model.said]);
    scatter(find("#said"), model.said, y, { x: both, y: both, labels: ["predicted (held out)", "observed"], line: both });
    const off = y.map((value, i) => value - model.said[i]);
    const far = Math.max(...ends(off).map(Math.abs));
    scatter(find("#residuals"), model.said, off, { x: ends(model.said), y: [-far, far], labels: ["predicted (held out)", "residual"], line: [0, 0] });

    function scatter(node, xs, ys, { x, y: range, labels, line }) {
      const at = frame(node, { x, y: range, labels, say: `${labels[1]} against ${labels[0]}, ${model.name}` });
      at.root.append(svg("path", { class: "chance", d: path(at.to, x, line) }));
      const points = xs.map((value, i) => ({ x: value, y: ys[i], i }));
      for (const point of points) at.root.append(svg("circle", { class: "dot fill-0", cx: at.to.x(point.x), cy: at.to.y(point.y), r: 3.2 }));
      nearest(at, points, ({ i }) => [`observed ${number(y[i])}`, `predicted ${number(model.said[i])}`, `residual ${number(y[i] - model.said[i])}`]);
    }
  }

  // ---- the table ---------------------------------------------------------------------------------
  function sortable(table) {
    const body = find("tbody", table);
    const heads = all("thead th", table);
    const value = (row, j) => {
      const cell = row.children[j];
      const held = cell.dataset.value;
      return held === undefined ? cell.textContent.trim().toLowerCase() : held === "" ? NaN : +held;
    };
    heads.forEach((head, j) => {
      const button = find("button", head);
      if (!button) return;
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [value(row, j), row]);
        rows.sort(([a], [b]) => {
          if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
          const order = typeof a === "string" ? a.localeCompare(b) : a - b;
          return down ? -order : order;
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  // ---- all of it ---------------------------------------------------------------------------------
  const drawings = [];
  if (data.evaluated) drawings.push([["#model"], evaluated]);
  if (data.planes && data.planes.pairs) drawings.push([["#pair", ...data.planes.panels.map((_, i) => `#plane-${i}-model`)], planes]);
  if (data.residuals) drawings.push([["#model"], residuals]);
  document.documentElement.classList.add("drawn");
  all("table.results").forEach(sortable);
  for (const [choosers, draw] of drawings) {
    for (const chooser of choosers) find(chooser).addEventListener("change", draw);
    draw();
  }
  const again = () => drawings.forEach(([, draw]) => draw());
  for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", again);
  let wide = innerWidth;
  let later = 0;
  addEventListener("resize", () => {
    if (innerWidth === wide) return; // a phone's address bar comes and goes
    wide = innerWidth;
    clearTimeout(later);
    later = setTimeout(again, 120);
  });
})();
