import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { said } from './said.ts';

const S = 'SENTINEL';

describe('secrets by their form, in any message', () => {
  const token = `${S}abcdefgh12345678`;
  const forms: readonly string[] = [
    `Authorization: Bearer ${token}`,
    `authorization: basic ${token}=`,
    `"x-api-key": "${token}"`,
    `X-API-Key=${token}`,
    `password=${token}`,
    `PlainLoginModule required username="u" password="${token}";`,
    `KAFKA_SASL_PASSWORD=${token}`,
    `aws_secret_access_key = ${token}/+x`,
    `AWS_SESSION_TOKEN=${token}`,
    `https://bucket/k?X-Amz-Credential=${token}%2F2026&X-Amz-Signature=${token}`,
    `https://bucket/k?a=1&X-Amz-Security-Token=${token}`,
    `postgres://user:${token}@db:5432/x`,
    `redis://:${token}@h/0`,
    `https://hub/?token=${token}`,
    `hf_${token}`,
    `AKIA${S}ABCDEFGH`,
    `eyJhbGciOiJ.${token}.${token}`,
    `-----BEGIN RSA PRIVATE KEY-----\n${token}\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN PRIVATE KEY-----\n${token}`,
    `connect failed (credentials: ${token})`,
  ];
  for (const form of forms) {
    it(form.slice(0, 50).replaceAll('\n', ' '), () => {
      expect(said(new Error(`failed with ${form} there`))).not.toContain(S);
      expect(said(new Error('x', { cause: new Error(form) }))).not.toContain(S);
      const lines: string[] = [];
      const log = createLogger({ level: 'INFO', service: 's', stream: { write: (line) => void lines.push(line) } });
      log.warn(form, { reason: form, [form]: 1 });
      expect(lines.join('')).not.toContain(S);
    });
  }

  it('takes no time on a megabyte of anything', () => {
    for (const hostile of [
      'a.'.repeat(500_000),
      'password'.repeat(120_000),
      '"'.repeat(1_000_000),
      '-----BEGIN '.repeat(90_000),
    ]) {
      const began = performance.now();
      said(new Error(hostile));
      expect(performance.now() - began).toBeLessThan(3_000);
    }
  });

  it('leaves what helps', () => {
    const words =
      'connect ECONNREFUSED 10.0.0.7:6379; tokens: 40, partition 3 of "rag.ingestion.chunks", basic checks passed';
    expect(said(new Error(words))).toContain(words.replaceAll('"', '\\"'));
  });
});
