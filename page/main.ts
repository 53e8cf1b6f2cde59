/** The live page in the browser: asks for the key where one is needed, follows the events, shows them. */
import type { StatusSnapshot } from '../src/ops/status-schema.ts';
import { Board } from './board.ts';
import { Connection } from './connection.ts';
import { formatClock } from './format.ts';
import { KeyStore } from './key-store.ts';

/** Where the server is, also behind a path prefix, and also when that was written without its last slash. */
const base = new URL(location.pathname.endsWith('/') ? location.pathname : `${location.pathname}/`, location.origin);

const part = <T extends HTMLElement>(id: string): T => {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no part ${id}`);
  return element as T;
};

const keys = new KeyStore(base.pathname);
const board = new Board(part('board'));
const news = part('news');
const keyForm = part<HTMLFormElement>('key');
const keyField = part<HTMLInputElement>('key-field');
const forget = part<HTMLButtonElement>('forget');
let lastMs: number | undefined;

const connection = new Connection(new URL('events', base), {
  onStatus: (status: StatusSnapshot) => {
    lastMs = Date.now();
    keyForm.hidden = true;
    forget.hidden = keys.get() === undefined;
    part('board').hidden = false;
    document.body.classList.remove('stale');
    board.show(status);
    say(undefined);
  },
  onLost: (reason) => {
    document.body.classList.add('stale');
    const shown = lastMs === undefined ? '' : ` What is shown is of ${formatClock(lastMs)}.`;
    say(`No connection: ${reason}. Trying again.${shown}`);
  },
  onRefused: () => {
    const tried = keys.get() !== undefined;
    keys.forget();
    askForKey(tried ? 'That key is not the right one.' : undefined);
  },
});

function say(words: string | undefined): void {
  news.hidden = words === undefined;
  if (news.textContent !== (words ?? '')) news.textContent = words ?? '';
}

function askForKey(words: string | undefined): void {
  part('board').hidden = true;
  forget.hidden = true;
  keyForm.hidden = false;
  say(words);
  keyField.focus();
}

function connect(): void {
  const key = keys.get();
  if (key === undefined && 'asksForKey' in document.documentElement.dataset) {
    askForKey(undefined);
    return;
  }
  say(lastMs === undefined ? 'Connecting …' : undefined);
  connection.open(key);
}

keyForm.addEventListener('submit', (event) => {
  event.preventDefault();
  const key = keyField.value.trim();
  // What a header cannot carry, no server was told.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    say('A key has only letters, digits and signs of ASCII, and no spaces.');
    return;
  }
  keyField.value = '';
  keys.set(key);
  connection.open(key);
});
forget.addEventListener('click', () => {
  connection.close();
  keys.forget();
  askForKey('The key is forgotten.');
});
for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-path]')) {
  link.href = new URL(link.dataset.path ?? '', base).pathname;
}
// A tab that nobody sees holds no connection; the first event after it brings what was missed.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) connection.close();
  else if (keyForm.hidden) connect();
});
setInterval(() => board.tick(), 1_000);
connect();
