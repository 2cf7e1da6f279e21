// Elements, built without any HTML text: names of functions and tags are foreign.

/** An element with properties; class, style and aria-* as attributes, on* as listeners. Children: elements or text. */
export function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key in node && !key.startsWith('aria-') && key !== 'style' && key !== 'list') node[key] = value;
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...present(children));
  return node;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

export function replace(parent, ...children) {
  parent.replaceChildren(...present(children));
}

/** The same, if that changes what is seen: what a screen reader is to read aloud when it changes. */
export function replaceChanged(parent, ...children) {
  const next = el(parent.tagName, {}, children);
  if (next.innerHTML !== parent.innerHTML) parent.replaceChildren(...next.childNodes);
}
