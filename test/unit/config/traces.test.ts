import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config/env-reader.ts';
import { readWorkerConfig } from '../../../src/config/programs.ts';
import { printableConfig, secretSpellings } from '../../../src/config/redact.ts';
import { machine, minimal } from './machine.ts';

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const read = (env: Env) => readWorkerConfig({ ...minimal, ...env }, machine());
const protocolOf = (env: Env) => read(env).traces.protocol;
const on: Env = { [ENDPOINT]: 'http://collector:4318' };

describe('traces are', () => {
  it.each<[string, Env, string | undefined]>([
    ['off by default', {}, undefined],
    ['on with an endpoint', on, 'http/protobuf'],
    ['on with an endpoint of their own', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector/x' }, 'http/protobuf'],
    ['on when asked for without an endpoint', { OTEL_TRACES_EXPORTER: 'otlp' }, 'http/protobuf'],
    ['sent as asked', { ...on, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'grpc'],
    [
      'sent as asked for them alone',
      { ...on, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
      'http/json',
    ],
    ['off when the SDK is', { ...on, OTEL_SDK_DISABLED: 'TRUE' }, undefined],
    ['on when the SDK is not off', { ...on, OTEL_SDK_DISABLED: 'no' }, 'http/protobuf'],
    ['off without an exporter', { ...on, OTEL_TRACES_EXPORTER: 'none' }, undefined],
    ['off when no batch would ever be sampled', { ...on, OTEL_TRACES_SAMPLER: 'always_off' }, undefined],
    ['off with an endpoint that is empty', { [ENDPOINT]: ' ' }, undefined],
  ])('%s', (_, env, protocol) => {
    expect(protocolOf(env)).toBe(protocol);
    expect(read(env).warnings).toEqual([]);
  });

  it.each<[string, Env]>([
    ['OTEL_TRACES_EXPORTER', { ...on, OTEL_TRACES_EXPORTER: 'zipkin' }],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', { ...on, OTEL_EXPORTER_OTLP_PROTOCOL: 'carrier pigeon' }],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', { ...on, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'x' }],
  ])('off, with a warning and no error, when %s says something unknown', (name, env) => {
    const { traces, warnings } = read(env);
    expect(traces.protocol).toBeUndefined();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(name);
    expect(warnings[0]).not.toContain('pigeon');
  });
});

it('the headers of the exporter are secrets, whole and value by value; short values are no secrets', () => {
  const headers = 'api-key=0123456789abcdef%20x,x-tenant=prod';
  const config = read({ ...on, OTEL_EXPORTER_OTLP_HEADERS: headers });
  const spellings = secretSpellings(config);
  for (const secret of [headers, '0123456789abcdef%20x', '0123456789abcdef x']) expect(spellings).toContain(secret);
  expect(spellings).not.toContain('prod');
  expect(JSON.stringify(printableConfig(config))).not.toContain('0123456789abcdef');
});
