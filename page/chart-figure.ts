/** A chart with its value now, its axes, a reading where the pointer is, and the same as words and as a table. */
import { number, text } from './cells.ts';
import { extentOf, minutesOf, nearest, type Point, pathsOf, type Window } from './chart.ts';
import { draw, make, tableOf } from './elements.ts';
import { formatClock, formatShort } from './format.ts';

export type ChartFigureOptions = {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly format: (value: number) => string;
  /** Said instead of an empty chart. */
  readonly empty: string;
};

const BOX = { width: 600, height: 150 } as const;

export class ChartFigure {
  readonly element: HTMLElement;
  readonly #options: ChartFigureOptions;
  readonly #now = make('p', { class: 'now' });
  readonly #top = make('span');
  readonly #middle = make('span');
  readonly #line = draw('path', { class: 'line' });
  readonly #area = draw('path', { class: 'area' });
  readonly #cross = draw('line', { class: 'cross', y1: 0, y2: BOX.height, visibility: 'hidden' });
  readonly #description = draw('desc');
  readonly #reading = make('p', { class: 'reading', 'aria-hidden': 'true' });
  readonly #plot: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #values = make('div');
  #points: readonly Point[] = [];
  #window: Window = { fromMs: 0, toMs: 1 };

  constructor(options: ChartFigureOptions) {
    this.#options = options;
    const { id, title, empty } = options;
    const svg = draw(
      'svg',
      {
        viewBox: `0 0 ${BOX.width} ${BOX.height}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-labelledby': `${id}-title ${id}-description`,
      },
      draw('title', { id: `${id}-title` }, title),
      this.#description,
      ...[0, 0.5, 1].map((share) =>
        draw('line', { class: 'grid', x1: 0, x2: BOX.width, y1: share * BOX.height, y2: share * BOX.height }),
      ),
      this.#area,
      this.#line,
      this.#cross,
    );
    this.#description.id = `${id}-description`;
    const axis = make('div', { class: 'axis', 'aria-hidden': 'true' }, this.#top, this.#middle, make('span', {}, '0'));
    const times = make(
      'div',
      { class: 'times', 'aria-hidden': 'true' },
      ...['15 min ago', '10', '5', 'now'].map((when) => make('span', {}, when)),
    );
    this.#plot = make('div', { class: 'plot' }, axis, svg, times);
    this.#empty = make('p', { class: 'empty' }, empty);
    const asTable = make('details', {}, make('summary', {}, 'By the minute'), this.#values);
    // A table of fifteen rows is made only for whoever opens it.
    asTable.addEventListener('toggle', () => this.#tellMinutes());
    this.element = make(
      'figure',
      { class: 'card chart', id },
      make('figcaption', {}, make('h2', {}, title), this.#now),
      this.#plot,
      this.#reading,
      this.#empty,
      asTable,
    );
    svg.addEventListener('pointermove', ({ clientX }) => {
      const { left, width } = svg.getBoundingClientRect();
      this.#read((clientX - left) / width);
    });
    svg.addEventListener('pointerleave', () => this.#read(undefined));
  }

  update(points: readonly Point[], window: Window): void {
    this.#points = points;
    this.#window = window;
    const { format, unit, title } = this.#options;
    const extent = extentOf(points, window);
    this.#plot.hidden = extent === undefined;
    this.#empty.hidden = extent !== undefined;
    const reads = (value: number) => `${format(value)} ${unit}`;
    const now = extent?.now ?? null;
    this.#now.textContent = now === null ? 'not known now' : reads(now);
    if (extent === undefined) return;
    const { line, area, top } = pathsOf(points, window, BOX);
    this.#line.setAttribute('d', line);
    this.#area.setAttribute('d', area);
    this.#top.textContent = formatShort(top);
    this.#middle.textContent = formatShort(top / 2);
    this.#description.textContent = `${title} over the last 15 minutes: ${now === null ? 'not known now' : `${reads(now)} now`}, least ${format(extent.least)}, most ${format(extent.most)}.`;
    this.#tellMinutes();
  }

  #tellMinutes(): void {
    if (this.#values.parentElement instanceof HTMLDetailsElement && !this.#values.parentElement.open) return;
    const rows = minutesOf(this.#points, this.#window).map(({ atMs, mean }) => [
      text(formatClock(atMs)),
      mean === null ? text('not known') : number(mean, this.#options.format(mean)),
    ]);
    const caption = `${this.#options.title}, mean of each minute`;
    this.#values.replaceChildren(tableOf({ caption, columns: ['Until', this.#options.unit], rows, empty: '' }));
  }

  #read(place: number | undefined): void {
    const point = place === undefined ? undefined : nearest(this.#points, this.#window, place);
    const known = point !== undefined && point.value !== null;
    this.#cross.setAttribute('visibility', known ? 'visible' : 'hidden');
    this.#reading.textContent = known
      ? `${formatClock(point.atMs)}: ${this.#options.format(point.value)} ${this.#options.unit}`
      : '';
    if (!known) return;
    const { fromMs, toMs } = this.#window;
    const x = ((point.atMs - fromMs) / (toMs - fromMs)) * BOX.width;
    this.#cross.setAttribute('x1', String(x));
    this.#cross.setAttribute('x2', String(x));
  }
}
