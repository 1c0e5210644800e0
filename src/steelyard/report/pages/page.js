(() => {
"use strict";
const {config, forests} = JSON.parse(document.getElementById("charts").textContent);
const figures = JSON.parse(document.getElementById("figure-specs").textContent);
const panels = JSON.parse(document.getElementById("panels").textContent);
const narrow = 640;

// A folded chart has no width of its own: it takes what its column would be.
const widthOf = (place) => {
  const open = place.clientWidth;
  if (open) return open;
  const page = document.querySelector("main").clientWidth, columns = Math.max(1, Math.floor((page + 26) / 338));
  return (page - 26 * (columns - 1)) / columns;
};
// Over several decades a logarithmic axis would draw more lines than there are marks.
const ticksOf = (marks) => {
  const low = Math.min(...marks.map((mark) => mark.low)), high = Math.max(...marks.map((mark) => mark.high));
  if (!(high / low > 3)) return {};
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const factor of high / low > 30 ? [1] : [1, 2, 5]) found.push(Number(`${factor}e${power}`));
  return {values: found};
};
const specOf = (place) => {
  const room = widthOf(place), {forest, figure, group, panel} = place.dataset;
  if (figure) {
    const spec = structuredClone(figures[figure][room < narrow && figures[figure].narrow ? "narrow" : "wide"]);
    // Charts one below the other have a width each.
    if (spec.vconcat) {
      for (const one of spec.vconcat) one.width = Math.max(120, room - 52);
      return {...spec, padding: {left: 0, right: 8, top: 4, bottom: 2}};
    }
    if (spec.autosize === "none") return {...spec, width: Math.max(120, room - spec.padding.left - spec.padding.right)};
    return {...spec, width: room, autosize: {type: "fit", contains: "padding"},
            padding: {left: 0, right: 8, top: 4, bottom: 2}};
  }
  if (forest) {
    const spec = structuredClone(forests[forest][room < narrow ? "narrow" : "wide"]);
    return {...spec, width: Math.max(120, room - spec.padding.left - spec.padding.right)};
  }
  const marks = panels.marks[group][panel], spec = structuredClone(panels.spec), ticks = ticksOf(marks);
  for (const layer of spec.layer) Object.assign(layer.encoding.y.axis, ticks);
  return {...spec, datasets: {marks}, width: room,
          autosize: {type: "fit", contains: "padding"}, padding: {left: 0, right: 8, top: 4, bottom: 2}};
};
const draw = async (place) => {
  const shown = await vegaEmbed(place, specOf(place), {config, renderer: "svg", actions: false, mode: "vega-lite"});
  const svg = place.querySelector("svg");
  if (svg) svg.setAttribute("aria-hidden", "true"); // the place itself has the label
  place.dataset.width = widthOf(place);
  return shown;
};
// A table that is wider than its place says that it scrolls.
const watching = new ResizeObserver((entries) => {
  for (const {target} of entries) target.toggleAttribute("data-scrolls", target.scrollWidth > target.clientWidth + 1);
});
document.querySelectorAll(".wide").forEach((one) => watching.observe(one));
const places = [...document.querySelectorAll(".chart")];
const drawAll = async () => {
  for (const place of places)
    if (Number(place.dataset.width) !== widthOf(place)) {
      await draw(place);
      await new Promise((resume) => setTimeout(resume)); // lets the reader scroll meanwhile
    }
  document.documentElement.dataset.drawn = "all";
};
drawAll();
let waiting;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 200); });
// What does not hold every word that was typed is hidden, and a group of nothing else too.
const find = document.getElementById("find"), sought = [...document.querySelectorAll("[data-find]")];
if (sought.length > 24) find.closest("p").hidden = false;
const show = () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const one of sought) {
    const text = one.dataset.find.toLowerCase(), is = words.every((word) => text.includes(word));
    one.classList.toggle("hidden", !is);
    shown += is;
  }
  for (const one of document.querySelectorAll("details.group, #samples ~ details")) {
    const any = Boolean(one.querySelector("[data-find]:not(.hidden)"));
    one.classList.toggle("hidden", !any);
    if (words.length) one.open = any;
  }
  document.getElementById("found").textContent = words.length ? `${shown} of ${sought.length} rows and panels` : "";
};
find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { show(); drawAll(); }, 120); });
// On paper nothing can be unfolded.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => {
  one.dataset.was = one.open; one.open = true; }));
addEventListener("afterprint", () => document.querySelectorAll("details").forEach((one) => {
  one.open = one.dataset.was === "true"; }));
})();
