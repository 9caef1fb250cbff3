// Find what a person sees wrong in this page as it is drawn (tests/looks.py). It is evaluated in the page, and returns a
// sentence for each fault.

([sharedMaxPx, fingerPx]) => {
  // Read by programs alone, or drawn by something that places its own text.
  const LEFT_OUT = ".visually-hidden, .skip-link, [aria-hidden=true], noscript, svg, option, template, .katex, script";
  // What lies above the page on purpose is compared with itself alone.
  const LAYERS = "[popover], dialog, .toast, .jump, .frame__bar, .choosing, .composer";
  // Links in text are exempt (WCAG 2.5.8), and a box to tick has the row of its label.
  const NO_TARGETS = ".visually-hidden, .skip-link, .prose, p a, a:has(sup), svg, [type=checkbox], [type=radio]";
  const found = [];
  const textOf = (e) => e.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
  const say = (what, e) => found.push(`${what}: <${e.localName} class="${e.className}"> ${textOf(e)}`);
  const isShown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  if (document.documentElement.scrollWidth > innerWidth) found.push("the page scrolls sideways");
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { currentNode: node } = walker;
    const element = node.parentElement;
    if (node.data.trim() && isShown(element) && !element.closest(LEFT_OUT)) read(node, element);
  }
  compare();
  for (const drawing of document.querySelectorAll("svg, img, canvas")) {
    const { width, height } = drawing.getBoundingClientRect();
    if (isShown(drawing) && !drawing.closest(".sprite") && (width < 2 || height < 2)) say("a drawing without a size", drawing);
  }
  if (matchMedia("(pointer: coarse)").matches) measureTargets();
  return found;

  function read(node, element) {
    const range = document.createRange();
    range.selectNodeContents(node);
    let rects = [...range.getClientRects()].filter((r) => r.width > 1 && r.height > 1);
    for (let box = element; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.overflow === "visible" || style.display === "contents") continue;
      // Hidden from eyes, and read by screen readers.
      if (style.clipPath === "inset(50%)") return;
      const edge = box.getBoundingClientRect();
      if (edge.width < 2 || edge.height < 2) return say("text without a size", element);
      const isCutX = style.overflowX === "hidden" && style.textOverflow !== "ellipsis";
      const isCutY = style.overflowY === "hidden" && style.maskImage === "none";
      const crosses = (r) =>
        (isCutX && r.left < edge.right - 1 && r.right > edge.right + 2) ||
        (isCutY && r.top < edge.bottom - 1 && r.bottom > edge.bottom + 4);
      if (rects.some(crosses)) return say("text that is cut", element);
      rects = rects.map((r) => shared(r, edge)).filter((r) => r.width > 0 && r.height > 0);
    }
    const layer = element.closest(LAYERS) ?? document.body;
    for (const rect of rects) lines.push({ element, rect, layer });
  }

  function shared(a, b) {
    const left = Math.max(a.left, b.left);
    const top = Math.max(a.top, b.top);
    return new DOMRect(left, top, Math.max(0, Math.min(a.right, b.right) - left), Math.max(0, Math.min(a.bottom, b.bottom) - top));
  }

  // Lines of different elements must not share more than the tails of letters.
  function compare() {
    lines.sort((a, b) => a.rect.top - b.rect.top);
    for (const [number, a] of lines.entries()) {
      for (const b of lines.slice(number + 1)) {
        if (b.rect.top >= a.rect.bottom) break;
        if (a.layer !== b.layer || a.element.contains(b.element) || b.element.contains(a.element)) continue;
        const { width, height } = shared(a.rect, b.rect);
        const lowest = Math.max(sharedMaxPx, 0.35 * Math.min(a.rect.height, b.rect.height));
        if (width > sharedMaxPx && height > lowest) say(`text over “${textOf(b.element)}”`, a.element);
      }
    }
  }

  function measureTargets() {
    for (const target of document.querySelectorAll("a, button, select, summary, input, textarea")) {
      if (!isShown(target) || target.closest(NO_TARGETS)) continue;
      // A link that covers its row is as large as that.
      if (getComputedStyle(target, "::after").position === "absolute") continue;
      const { width, height } = (target.closest("label") ?? target).getBoundingClientRect();
      const isSmall = width < fingerPx - 0.5 || height < fingerPx - 0.5;
      if (width && isSmall) say(`a target of ${Math.round(width)} × ${Math.round(height)} px`, target);
    }
  }
};
