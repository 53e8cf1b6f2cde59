/** Makes elements. Text goes in as text only: there is no way here from a string to markup. */
import type { Cell, Fact, Table, Tone } from './cells.ts';
import { formatClock, formatDuration } from './format.ts';

type Attributes = Readonly<Record<string, string | number | undefined>>;
type Child = Node | string;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  give(element, attributes);
  element.append(...children);
  return element;
}

export function draw<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  give(element, attributes);
  element.append(...children);
  return element;
}

function give(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value));
  }
}

const SIGNS: Readonly<Record<Tone, string>> = { good: '✓', bad: '✕', odd: '!', quiet: '–' };

export function badge(tone: Tone, words: string): HTMLElement {
  return make('span', { class: `badge ${tone}` }, make('span', { 'aria-hidden': 'true' }, SIGNS[tone]), ` ${words}`);
}

export function show(cell: Cell): Node {
  switch (cell.kind) {
    case 'text':
      return document.createTextNode(cell.text);
    case 'code':
      return cell.note === undefined ? make('code', {}, cell.text) : noted(cell.text, cell.note);
    case 'number':
      return make('data', { value: cell.value }, cell.text);
    case 'state':
      return badge(cell.tone, cell.text);
    case 'clock':
      return make('time', { datetime: cell.at, title: cell.at }, formatClock(cell.at));
    case 'since':
      return make('time', { datetime: cell.at, title: `since ${cell.at}`, 'data-since': '' });
  }
}

function noted(text: string, note: string): Node {
  const both = document.createDocumentFragment();
  both.append(make('code', {}, text), make('p', { class: 'note' }, note));
  return both;
}

/** Fills in how long ago each `since` is, by the server's clock: the browser's own may be wrong. */
export function tellDurations(root: ParentNode, serverNowMs: number): void {
  for (const element of root.querySelectorAll<HTMLTimeElement>('time[data-since]')) {
    const text = formatDuration((serverNowMs - Date.parse(element.dateTime)) / 1_000);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** First column as row headers. */
export function tableOf({ caption, columns, rows, empty, isLong = false }: Table): HTMLElement {
  const label = { class: 'caption' };
  if (rows.length === 0) {
    return make('div', {}, make('p', label, caption), make('p', { class: 'empty' }, empty));
  }
  const head = make('tr', {}, ...columns.map((name) => make('th', { scope: 'col' }, name)));
  const body = rows.map((cells) =>
    make(
      'tr',
      {},
      ...cells.map((cell, index) => {
        const aligned = cell.kind === 'number' && index > 0 ? { class: 'number' } : {};
        return index === 0 ? make('th', { scope: 'row', ...aligned }, show(cell)) : make('td', aligned, show(cell));
      }),
    ),
  );
  columns.forEach((_name, index) => {
    if (index > 0 && rows.every((cells) => cells[index]?.kind === 'number'))
      head.children[index]?.classList.add('number');
  });
  const table = make('table', {}, make('caption', label, caption), make('thead', {}, head), make('tbody', {}, ...body));
  const reach = isLong ? { tabindex: 0, role: 'region', 'aria-label': caption } : {};
  return make('div', { class: 'scroll', ...reach }, table);
}

export function factsOf(facts: readonly Fact[], style: 'tiles' | 'facts'): HTMLElement {
  const entries = facts.map(({ name, cell, note }) =>
    make(
      'div',
      { 'data-fact': name },
      make('dt', {}, name),
      make('dd', {}, show(cell)),
      ...(note === undefined ? [] : [make('dd', { class: 'note' }, note)]),
    ),
  );
  return make('dl', { class: style }, ...entries);
}
