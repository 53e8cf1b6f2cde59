import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { closeServers, fetchRaw, start } from './ops-fixture.ts';

afterEach(closeServers);

const between = (text: string, from: RegExp, to: string) => {
  const rest = text.slice((from.exec(text)?.index ?? 0) + (from.exec(text)?.[0].length ?? 0));
  return rest.slice(0, rest.indexOf(to));
};
const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

describe('the live page', () => {
  it('is one file: it names no other, and its policy lets exactly its own script and style run', async () => {
    const { port } = await start();
    const { status, headers, body } = await fetchRaw(port, '/');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(body).not.toMatch(/\bsrc=|@import|url\(|href="(?!#|docs\/|data:)/);
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toContain(`script-src ${hash(between(body, /<script type="module">/, '</script>'))}`);
    expect(policy).toContain(`style-src ${hash(between(body, /<style>/, '</style>'))}`);
    expect(policy).toContain("default-src 'none'");
    expect(policy.join()).not.toContain('unsafe');
    // What a policy without unsafe-inline forbids anyway.
    expect(body).not.toMatch(/\s(on[a-z]+|style)="/);
  });

  it('is given without the key, holds no numbers, and knows that it must ask', async () => {
    const { port } = await start({ apiKey: 's3cret' });
    const { status, body } = await fetchRaw(port, '/');
    expect(status).toBe(200);
    expect(body).toContain('data-asks-for-key');
    expect(body).not.toMatch(/s3cret|worker-0|CHUNK_INVALID/);
    const open = await start();
    expect((await fetchRaw(open.port, '/')).body).not.toContain('data-asks-for-key');
  });
});
