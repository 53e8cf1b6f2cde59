/**
 * The live page as one document, and the policy that lets exactly its own script and style run. Its parts are written in
 * page/ and bundled into gen/ by `make generate`. It holds no numbers: those come over /events, to whoever has the key.
 */
import { createHash } from 'node:crypto';
import { pageMarkup, pageScript, pageStyle } from './gen/live-page.ts';

/** `asksForKey`: the page then asks before it connects. */
export function livePage(asksForKey: boolean): string {
  return [
    '<!doctype html>',
    `<html lang="en"${asksForKey ? ' data-asks-for-key' : ''}>`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="robots" content="noindex">',
    '<title>rag-serving</title>',
    // Without one, browsers ask for /favicon.ico.
    `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">`,
    `<style>${pageStyle}</style>`,
    '</head>',
    `<body>${pageMarkup}<script type="module">${pageScript}</script></body>`,
    '</html>',
    '',
  ].join('\n');
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#1f5fbf"/><path d="M2 11l4-5 3 3 5-6" fill="none" stroke="#fff" stroke-width="2"/></svg>';

export const livePagePolicy = [
  "default-src 'none'",
  `script-src ${hashOf(pageScript)}`,
  `style-src ${hashOf(pageStyle)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // The script makes elements, never markup out of text; this holds it to that.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
