import { create, equals } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../../scripts/model-config/parse.ts';
import { printConfig } from '../../../../scripts/model-config/print.ts';
import { DataType, ModelConfigSchema, ModelInstanceGroup_Kind } from '../../../../src/kserve/gen/model_config_pb.ts';

describe('reading a config.pbtxt', () => {
  it('takes every way in which people write text format', () => {
    const { config, problems } = parseConfig(`
      name: 'a' "b"   # strings that follow each other are one
      platform: "quote \\" tab \\t \\303 \\x41"
      max_batch_size: 0x20
      input: [ { name: "X", data_type: TYPE_FP16; dims: [ -1, 0, 010 ] } ]
      input < name: "Y" data_type: 9 dims: 3 dims: 4 optional: True >
      instance_group { kind: KIND_CPU }
      instance_group { gpus: 0 gpus: [1, 2] }
      sequence_batching { direct { minimum_slot_utilization: 0.5f } }
      parameters: { key: "k" value: { string_value: "v" } }
      parameters [ { key: "l" }, { value { string_value: "w" } key: "m" } ]
      metric_tags { key: "team" value: "search" }`);
    expect(problems).toEqual([]);
    expect(config).toMatchObject({
      ...{ name: 'ab', platform: 'quote " tab \t \u00c3 A', maxBatchSize: 32 },
      input: [
        { name: 'X', dataType: DataType.TYPE_FP16, dims: [-1n, 0n, 8n] },
        { name: 'Y', dataType: DataType.TYPE_INT64, dims: [3n, 4n], optional: true },
      ],
      instanceGroup: [{ kind: ModelInstanceGroup_Kind.CPU }, { gpus: [0, 1, 2] }],
      schedulingChoice: { value: { strategyChoice: { value: { minimumSlotUtilization: 0.5 } } } },
      parameters: { k: { stringValue: 'v' }, l: { stringValue: '' }, m: { stringValue: 'w' } },
      metricTags: { team: 'search' },
    });
  });

  it.each([
    ['a field that is not known', 'max_batchsize: 8', 'max_batchsize is no field of ModelConfig'],
    ['one with a message', 'warmup [ { a { b: "}" } }, { } ]', 'warmup is no field of ModelConfig'],
    ['one inside a message', 'input { nam: "x" }', 'nam is no field of ModelInput'],
    [
      'an enum value that does not exist',
      'input { data_type: TYPE_BYTES }',
      'data_type: TYPE_BYTES where one of TYPE_INVALID',
    ],
    ['an enum as a string', 'input { data_type: "TYPE_FP16" }', 'data_type: a string where one of'],
    ['a string for a number', 'max_batch_size: "8"', 'max_batch_size: a string where an integer from'],
    ['a fraction for an integer', 'max_batch_size: 8.5', 'max_batch_size: 8.5 where an integer'],
    ['a number beyond its range', 'max_batch_size: 2147483648', 'max_batch_size: 2147483648 where an integer'],
    ['a negative size', 'dynamic_batching { max_queue_delay_microseconds: -1 }', '-1 where an integer from 0'],
    ['a word for a boolean', 'response_cache { enable: yes }', 'enable: yes where true or false'],
    ['a number for a string', 'name: 5', 'name: 5 where a string'],
    ['a field twice', 'name: "a" name: "b"', 'name stands twice in one ModelConfig'],
    [
      'two schedulers',
      'dynamic_batching { } sequence_batching { }',
      'sequence_batching and dynamic_batching exclude each other',
    ],
    ['an entry without a key', 'parameters { value { string_value: "v" } }', 'an entry of parameters has no key'],
    ['another field in an entry', 'parameters { key: "a" val: 1 }', 'val is no field of an entry of parameters'],
  ])('%s is a problem with its line, and what follows is read', (_, text, message) => {
    const { config, problems } = parseConfig(`# first line\n${text}\nbackend: "python"`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ line: 2, message: expect.stringContaining(message) });
    expect(config.backend).toBe('python');
  });

  it.each([
    ['a message that is not closed', 'input {', 'the end of the file where a field of ModelInput should be', 2],
    ['a string that is not closed', 'name: "a', 'a string that is not closed', 2],
    ['a value without a colon', 'name "a"', 'a string where a colon before a value', 2],
    ['a scalar for a message', 'input: 5', '5 where {, since input is a message should be', 2],
    ['JSON', '{ "name": "a" }', '{ where a field of ModelConfig should be', 2],
    ['brackets that do not match', 'backend: "a"\ninput [ { } }', '} where a comma or ] should be', 3],
  ])('%s ends the reading', (_, text, message, line) => {
    const { problems } = parseConfig(`\n${text}\n`);
    expect(problems).toEqual([{ line: expect.any(Number), message: expect.stringContaining(message) }]);
    expect(problems[0]!.line).toBeGreaterThanOrEqual(line);
  });
});

describe('writing a config.pbtxt', () => {
  it('what is written is read as the same, whatever stands in it', () => {
    const config = create(ModelConfigSchema, {
      name: 'q"uo\\te\nline',
      maxBatchSize: 4,
      input: [{ name: 'é海', dataType: DataType.TYPE_STRING, dims: [-1n, 9007199254740993n] }],
      metricTags: { 'a b': 'c' },
      modelWarmup: [{ name: 'w', batchSize: 1, inputs: { x: { inputDataType: { case: 'zeroData', value: true } } } }],
      optimization: {
        cuda: { graphs: true, graphSpec: [{ batchSize: 1, input: { x: { dim: [1n] } } }, { batchSize: 2 }] },
      },
      schedulingChoice: { case: 'dynamicBatching', value: { priorityQueuePolicy: { 7: { maxQueueSize: 3 } } } },
      versionPolicy: { policyChoice: { case: 'all', value: {} } },
    });
    const text = printConfig(config, { header: ['what it is'], fields: { input: ['the texts'] } });
    const { config: again, problems } = parseConfig(text);
    expect(problems).toEqual([]);
    expect(equals(ModelConfigSchema, again, config)).toBe(true);
    expect(text.split('\n')[0]).toBe('# what it is');
    expect(text).toContain('# the texts\ninput [');
  });

  it('a queue that rejects and a cache that is off are said, though both are the default', () => {
    const text = printConfig(
      create(ModelConfigSchema, {
        responseCache: {},
        schedulingChoice: { case: 'dynamicBatching', value: { defaultQueuePolicy: { maxQueueSize: 1 } } },
      }),
      { header: [] },
    );
    expect(text).toBe(
      'dynamic_batching { default_queue_policy { timeout_action: REJECT max_queue_size: 1 } }\nresponse_cache { enable: false }\n',
    );
  });
});
