// What is wrong with the layout of a page, as lines of text: letters too small, too pale, on top of each other
// or out of sight, and legends without the colours of their bars. Everything that can be unfolded is open.
() => {
  const found = [], width = innerWidth, isPhone = width <= 640;
  const say = (what, one) => found.push(`${what}: <${one.tagName.toLowerCase()} class="${one.getAttribute("class") || ""}"> ${one.textContent.trim().slice(0, 60)}`);
  const parts = (colour) => {
    const numbers = colour.match(/[\d.]+(e-\d+)?/g).map(Number);
    const [rgb, alpha] = [numbers.slice(0, 3), numbers.length > 3 ? numbers[3] : 1];
    return [...(colour.startsWith("color(") ? rgb.map((one) => one * 255) : rgb), alpha];
  };
  const luminance = (colour) => {
    const [r, g, b] = parts(colour).map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const ground = (one) => {
    const box = one.getBoundingClientRect(), [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const bars = one.closest("svg") ? [...one.closest("svg").querySelectorAll("rect")] : [];
    const below = bars.filter((bar) => { const b = bar.getBoundingClientRect(); return b.left <= x && x <= b.right && b.top <= y && y <= b.bottom; });
    if (below.length) return getComputedStyle(below.at(-1)).fill;
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parts(colour)[3] > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const isSeen = (one) => one.checkVisibility() && one.getBoundingClientRect().width > 0 && !one.matches(".skip, caption, title");
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const one of document.querySelectorAll("body *")) {
    if (!isSeen(one)) continue;
    const style = getComputedStyle(one), isScrolled = !isPhone && one.closest(".table, pre");
    if (one.scrollWidth > one.clientWidth + 1 && style.overflowX !== "visible" && !isScrolled) say("scrolls sideways", one);
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const box = one.getBoundingClientRect();
    if (!isScrolled && (box.left < 0 || box.right > width)) say("out of sight", one);
    if (parseFloat(style.fontSize) < 12) say(`letters of ${style.fontSize}`, one);
    const ratio = contrast(one.closest("svg") ? style.fill : style.color, ground(one));
    if (ratio < 4.5) say(`contrast ${ratio.toFixed(2)}`, one);
  }
  for (const chart of document.querySelectorAll("figure")) {
    const texts = [...chart.querySelectorAll("svg text")].filter(isSeen).map((one) => [one, one.getBoundingClientRect()]);
    texts.forEach(([one, a], at) => texts.slice(at + 1).forEach(([_other, b]) => {
      if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) say("on another label", one);
    }));
    const named = new Set([...chart.querySelectorAll(".swatch")].map((one) => getComputedStyle(one).backgroundColor));
    const drawn = [...chart.querySelectorAll("rect")].map((one) => getComputedStyle(one));
    const unnamed = drawn.filter((style) => named.size && (!named.has(style.fill) || style.fillOpacity !== "1"));
    if (unnamed.length) say(`${unnamed.length} bars in colours that the legend has not, ${unnamed[0].fill}`, chart);
    if (!drawn.length) say("no bars", chart);
  }
  return found;
}
