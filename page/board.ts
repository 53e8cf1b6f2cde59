/**
 * Puts a snapshot on the page. A section is made anew only when what it shows has changed, so that a selection, a scroll
 * position or the focus in the others stays.
 */
import type { IngestStatus, StatusSnapshot } from '../src/ops/status-schema.ts';
import { since } from './cells.ts';
import { windowUntil } from './chart.ts';
import { ChartFigure } from './chart-figure.ts';
import { badge, factsOf, make, show, tableOf, tellDurations } from './elements.ts';
import { formatCount, formatRate } from './format.ts';
import {
  intakeFacts,
  keyFacts,
  lastLetters,
  lettersByCode,
  outcomesTable,
  partitionsTable,
  retriesTable,
  type SlotsView,
  seriesOf,
  slotsView,
} from './ingest-view.ts';
import {
  breakersTable,
  checksTable,
  modelsTable,
  titleOf,
  type VramView,
  verdictOf,
  vramView,
} from './program-view.ts';

export class Board {
  readonly #root: HTMLElement;
  readonly #shown = new Map<string, string>();
  readonly #rate = new ChartFigure({
    id: 'chart-rate',
    title: 'Throughput',
    unit: 'chunks/s',
    format: formatRate,
    empty: 'No throughput has been noted yet.',
  });
  readonly #lag = new ChartFigure({
    id: 'chart-lag',
    title: 'Lag',
    unit: 'messages',
    format: formatCount,
    empty: 'The broker has not told the lag yet.',
  });
  /** How far the server's clock is before ours. */
  #aheadMs = 0;

  constructor(root: HTMLElement) {
    this.#root = root;
    this.#section('charts').append(this.#rate.element, this.#lag.element);
  }

  show(status: StatusSnapshot): void {
    this.#aheadMs = Date.parse(status.at) - Date.now();
    document.title = titleOf(status);
    const { program, pool, worker, version, phase, phaseSince, modelServer, ingest } = status;
    this.#fill('identity', { program, pool, worker, version }, () => [
      make('h1', {}, worker),
      make('p', {}, `rag-serving ${program} ${version} · pool ${pool}`),
    ]);
    const verdict = verdictOf(status);
    this.#fill('verdict', { verdict, phase, phaseSince }, () => [
      make('div', { class: `verdict ${verdict.tone}` }, badge(verdict.tone, verdict.title)),
      make(
        'p',
        {},
        `${verdict.detail} Phase `,
        make('b', { id: 'phase' }, phase),
        ' for ',
        show(since(phaseSince)),
        '.',
      ),
    ]);
    // Read out when it changes; the durations beside it change every second.
    this.#fill('spoken', verdict, () => [document.createTextNode(`${verdict.title}. ${verdict.detail}`)]);
    this.#fill('checks', status.checks, () => [tableOf(checksTable(status.checks))]);
    this.#fill('model-server', { modelServer, program }, () => [
      make('h2', {}, 'Model server'),
      make('p', { class: 'note' }, make('code', {}, modelServer.target)),
      tableOf(modelsTable(modelServer)),
      tableOf(breakersTable(modelServer, program)),
    ]);
    const vram = vramView(status.vram);
    this.#fill('vram', { vram }, () => [make('h2', {}, 'GPU memory'), ...vramNodes(vram)]);
    for (const section of this.#root.querySelectorAll<HTMLElement>('[data-ingest]')) section.hidden = ingest === null;
    this.#root.classList.toggle('alone', ingest === null);
    if (ingest !== null) this.#showIngest(ingest, status.at);
    this.tick();
  }

  /** To be called every second: durations go on while nothing is told. */
  tick(): void {
    tellDurations(this.#root, Date.now() + this.#aheadMs);
  }

  #showIngest(ingest: IngestStatus, at: string): void {
    const window = windowUntil(Date.parse(at));
    const { rate, lag } = seriesOf(ingest, at);
    this.#rate.update(rate, window);
    this.#lag.update(lag, window);
    const facts = keyFacts(ingest);
    this.#fill('numbers', facts, () => [factsOf(facts, 'tiles')]);
    const partitions = partitionsTable(ingest);
    this.#fill('partitions', partitions, () => [tableOf(partitions)]);
    const intake = intakeFacts(ingest);
    const slots = slotsView(ingest);
    this.#fill('intake', { intake, slots }, () => [
      make('h2', {}, 'Intake'),
      factsOf(intake, 'facts'),
      make('h3', {}, 'Shared-memory slots'),
      ...slotNodes(slots),
    ]);
    const outcomes = outcomesTable(ingest);
    const retries = retriesTable(ingest);
    this.#fill('outcomes', { outcomes, retries }, () => [tableOf(outcomes), tableOf(retries)]);
    const byCode = lettersByCode(ingest);
    const last = lastLetters(ingest);
    this.#fill('letters', { byCode, last }, () => [
      make('h2', {}, 'Dead letters'),
      ...(last.rows.length === 0
        ? [make('p', { class: 'empty' }, 'None since the start.')]
        : [tableOf(byCode), tableOf(last)]),
    ]);
  }

  #fill(name: string, content: unknown, nodes: () => readonly Node[]): void {
    const text = JSON.stringify(content);
    if (this.#shown.get(name) === text) return;
    this.#shown.set(name, text);
    this.#section(name).replaceChildren(...nodes());
  }

  #section(name: string): HTMLElement {
    const section = document.getElementById(name);
    if (section === null) throw new Error(`the page has no part ${name}`);
    return section;
  }
}

function vramNodes(vram: VramView | undefined): readonly Node[] {
  if (vram === undefined) return [make('p', { class: 'empty' }, 'Not watched: no address of Triton’s metrics is set.')];
  const gauges = vram.gauges.map(({ label, share, limit, tone, text }) => {
    const used = make('div', { class: `used ${tone}` });
    used.style.inlineSize = `${share * 100}%`;
    const mark = make('div', { class: 'mark' });
    mark.style.insetInlineStart = `${limit * 100}%`;
    const name = make('p', {}, make('code', {}, label), ` ${text}`);
    return make('div', { class: 'gauge' }, name, make('div', { class: 'bar', 'aria-hidden': 'true' }, used, mark));
  });
  return [
    make('p', {}, show(vram.state)),
    ...(vram.note === undefined ? [] : [make('p', { class: 'note' }, vram.note)]),
    ...gauges,
    factsOf(vram.facts, 'facts'),
  ];
}

function slotNodes(slots: SlotsView | undefined): readonly Node[] {
  if (slots === undefined)
    return [make('p', { class: 'empty' }, 'None: there is no shared memory with the model server.')];
  const parts = slots.parts.map(({ count, tone }) => {
    const part = make('div', { class: `used ${tone}` });
    part.style.inlineSize = `${(count / Math.max(1, slots.total)) * 100}%`;
    return part;
  });
  return [make('p', { id: 'slots' }, slots.text), make('div', { class: 'bar', 'aria-hidden': 'true' }, ...parts)];
}
