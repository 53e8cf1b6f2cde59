import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { FileStorage } from '../../../src/registry/file-storage.ts';
import { describeStorage } from './storage-contract.ts';

const root = mkdtempSync(join(tmpdir(), 'rag-registry-'));
let opened = 0;

afterAll(() => rmSync(root, { recursive: true, force: true }));

describeStorage({ name: 'a folder', open: () => new FileStorage(join(root, String(++opened))) });
