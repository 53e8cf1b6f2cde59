import { describe, expect, it } from 'vitest';
import { documentMessages, lineMessage, type Prepared } from '../../../../workers/files/message.ts';

function sent(prepared: Prepared | undefined): { key: string; json: Record<string, unknown>; chunks: number } {
  if (prepared?.ok !== true) throw new Error(`not sent: ${JSON.stringify(prepared)}`);
  const { key, value, chunks } = prepared.message;
  return { key, json: JSON.parse(Buffer.from(value).toString('utf8')), chunks };
}
const line = (content: string | object) =>
  lineMessage('dir/f.ndjson', 7, Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)));

describe('documentMessages', () => {
  it('names document and chunks by the path and tells path and title', () => {
    const text = `Intro.\n\n## The Title ##\n\n${'A sentence of some length. '.repeat(100)}`;
    const messages = documentMessages('docs/a.md', text, 50).map(sent);
    expect(messages.length).toBeGreaterThan(5);
    for (const [index, { key, json, chunks }] of messages.entries()) {
      expect(key).toBe('docs/a.md');
      expect(chunks).toBe(1);
      expect(json).toMatchObject({
        chunk_id: `docs/a.md#${index}`,
        document_id: 'docs/a.md',
        metadata: { path: 'docs/a.md', title: 'The Title' },
      });
    }
  });
  it('a text file has no title', () => {
    expect(sent(documentMessages('a.txt', '# not a title', 50)[0]).json.metadata).toEqual({ path: 'a.txt' });
  });
  it('a blank document sends nothing', () => expect(documentMessages('a.md', ' \n', 50)).toEqual([]));
  it('a path too long for an id is told', () => {
    const [only] = documentMessages(`${'x'.repeat(600)}.md`, 'Text.', 50);
    expect(only).toMatchObject({ ok: false, problem: expect.stringContaining('chunk_id') });
  });
});

describe('lineMessage', () => {
  it('sends a chunk message byte for byte, numbers as they were written', () => {
    const raw = '{ "chunk_id":"c", "document_id":"d","text":"t","metadata":{"n":1.0e2} }';
    const prepared = line(raw);
    expect(prepared.ok && Buffer.from(prepared.message.value).toString()).toBe(raw);
    expect(sent(prepared).key).toBe('d');
  });
  it('a chunk without document has itself as its key', () => {
    expect(sent(line({ chunk_id: 'c', text: 't' })).key).toBe('c');
  });
  it('a batch message counts its chunks', () => {
    const batch = {
      document_id: 'd',
      chunks: [
        { chunk_id: '1', text: 'a' },
        { chunk_id: '2', text: 'b' },
      ],
    };
    expect(sent(line(batch))).toMatchObject({ key: 'd', chunks: 2, json: batch });
  });
  it('a bare text gets its ids from file and line', () => {
    expect(sent(line({ text: 't', tenant_id: 'x' })).json).toEqual({
      text: 't',
      tenant_id: 'x',
      chunk_id: 'dir/f.ndjson#7',
      document_id: 'dir/f.ndjson',
    });
    expect(sent(line({ text: 't', document_id: 'mine' })).json).toMatchObject({ document_id: 'mine' });
  });

  const bad: [name: string, content: string | object, says: RegExp][] = [
    ['no JSON', '{"text":"SENTINEL', /is no JSON/],
    ['a bare value', '"SENTINEL"', /JSON object/],
    ['an id that is a number', { chunk_id: 12345678, text: 'SENTINEL' }, /chunk_id/],
    ['no text', { chunk_id: 'c' }, /text/],
    ['blank text', { chunk_id: 'c', text: '  ' }, /white space/],
    ['a batch of none', { chunks: [] }, /chunks/],
    ['one bad chunk of a batch', { chunks: [{ chunk_id: 'a', text: 'SENTINEL' }, { chunk_id: 'b' }] }, /chunk 1: text/],
    ['null', 'null', /JSON object/],
  ];
  for (const [name, content, says] of bad) {
    it(`${name} is told with file and line, without its content`, () => {
      const prepared = line(content);
      expect(prepared).toMatchObject({ ok: false, origin: 'dir/f.ndjson:7', problem: expect.stringMatching(says) });
      expect(JSON.stringify(prepared)).not.toContain('SENTINEL');
    });
  }
  it('no UTF-8 is told', () => {
    expect(lineMessage('f', 1, Uint8Array.of(0x22, 0xff, 0x22))).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/no UTF-8/),
    });
  });
});
