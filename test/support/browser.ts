/** A real Chromium for a test file: a profile of its own, nothing fetched that no page asks for, gone afterwards. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

const CHROMIUM = '/usr/bin/chromium';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function useBrowser(): () => BrowserContext {
  let context: BrowserContext | undefined;
  let folder: string | undefined;
  beforeAll(async () => {
    if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing; "apt-get install -y chromium" brings it`);
    folder = mkdtempSync(join(tmpdir(), 'rag-chromium-'));
    context = await chromium.launchPersistentContext(folder, {
      executablePath: CHROMIUM,
      headless: true,
      args: FLAGS,
      // Chromium writes into the home folder otherwise, whatever its profile is.
      env: { ...process.env, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder } as Record<string, string>,
      colorScheme: 'light',
      viewport: { width: 1_280, height: 900 },
    });
  });
  afterAll(async () => {
    await context?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return () => {
    if (context === undefined) throw new Error('the browser has not started');
    return context;
  };
}

export type WatchedPage = {
  readonly page: Page;
  /** Errors and warnings of the console, faults of scripts: with a strict policy its violations are among them. */
  readonly complaints: string[];
  /** What was asked for, whole addresses. */
  readonly requests: readonly string[];
};

export async function openPage(context: BrowserContext): Promise<WatchedPage> {
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => requests.push(request.url()));
  return { page, complaints, requests };
}

/** How much wider the page is than the window. */
export async function overflowOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
