/** Brokers that refuse: wrong password, and each right that is missing. One error that names it, and no secret anywhere. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunningKafka, startKafka } from '../../../scripts/stack/kafka.ts';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { allow, type Right } from '../../support/kafka-rights.ts';
import type { Env } from '../worker/harness.ts';
import { DlqWorld } from './dlq-world.ts';

const sasl = { username: 'operator', password: 'pw-SENTINEL-right' };
let kafka: RunningKafka;
let world: DlqWorld;

beforeAll(async () => {
  kafka = await startKafka({
    sasl,
    settings: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // The plain listener, which only the test uses.
      'super.users': 'User:ANONYMOUS',
    },
  });
}, 600_000);
beforeEach(async () => {
  world = new DlqWorld(kafka.bootstrapServers);
  await world.topic.create(1);
  await world.write([world.letter(1), world.letter(2)]);
});
afterEach(async () => {
  await killAllPrograms();
  await world.close();
});
afterAll(() => kafka?.stop());

const securedEnv = (): Env => ({
  KAFKA_BOOTSTRAP_SERVERS: kafka.securedServers,
  KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
  KAFKA_SASL_USERNAME: sasl.username,
  KAFKA_SASL_PASSWORD: sasl.password,
  RAG_SERVING_LOG_LEVEL: 'DEBUG',
});

async function run(args: readonly string[], more: Env = {}) {
  const end = await world.run(args, { ...securedEnv(), ...more });
  expect(end.output).not.toContain('SENTINEL');
  return end;
}

/** Of everything whose name begins so. */
function allowed(on: Right['on'], name: string, ...operations: readonly Right['to'][]): Promise<void> {
  const rights = operations.map((to) => ({ on, name, to }));
  return allow(world.topic.client, sasl.username, 'PREFIXED', rights);
}

describe('a broker that refuses', () => {
  it('a wrong password', async () => {
    const { code, output } = await run(['dlq', 'list'], { KAFKA_SASL_PASSWORD: 'pw-SENTINEL-wrong' });
    expect(code).toBe(1);
    expect(output).toMatch(/rag-serving: KAFKA_ACCESS_DENIED: /);
  });

  it('each right by itself is named, and with all of them everything works', async () => {
    const unseen = await run(['dlq', 'stats']);
    expect(unseen.code).toBe(1);
    expect(unseen.output).toMatch(/KAFKA_TOPIC_UNKNOWN: .*or this user may not see it/);

    await allowed('TOPIC', world.dlq, 'READ');
    const noGroup = await run(['dlq', 'stats']);
    expect(noGroup.code, noGroup.output).toBe(1);
    expect(noGroup.output).toMatch(/KAFKA_ACCESS_DENIED: .*GROUP_AUTHORIZATION_FAILED/);

    await allowed('GROUP', world.topic.group, 'READ');
    const stats = await run(['dlq', 'stats', '--json']);
    expect(stats.lines.at(-1), stats.output).toMatchObject({ letters: 2, pending: 2 });

    const noMarks = await run(['dlq', 'replay', '--yes']);
    expect(noMarks.code).toBe(1);
    expect(noMarks.output).toMatch(/KAFKA_ACCESS_DENIED: cannot create topic .*\.dlq\.redrive/);

    await allowed('TOPIC', `${world.dlq}.redrive`, 'CREATE', 'READ', 'WRITE');
    const noId = await run(['dlq', 'replay', '--yes']);
    expect(noId.code).toBe(1);
    expect(noId.output).toMatch(/KAFKA_ACCESS_DENIED: cannot begin transactions as rag-serving\.redrive\./);

    await allowed('TRANSACTIONAL_ID', 'rag-serving.redrive.', 'WRITE');
    const noTopic = await run(['dlq', 'replay', '--yes']);
    expect(noTopic.code).toBe(1);
    expect(noTopic.output).toContain(`topic ${world.topic.topic}, which dead letters are to be replayed to`);

    await allowed('TOPIC', world.topic.topic, 'WRITE');
    const replayed = await run(['dlq', 'replay', '--yes', '--json']);
    expect(replayed.lines.at(-1), replayed.output).toMatchObject({ replayed: 2 });

    const noDelete = await run(['dlq', 'purge', '--all', '--yes']);
    expect(noDelete.code).toBe(1);
    expect(noDelete.output).toMatch(/KAFKA_ACCESS_DENIED: cannot delete records of topic .*TOPIC_AUTHORIZATION_FAILED/);
    await allowed('TOPIC', world.dlq, 'DELETE');
    expect((await run(['dlq', 'purge', '--all', '--yes'])).code).toBe(0);
  }, 120_000);

  it('one that is away is one error within its time limit', async () => {
    const { code, output } = await run(['dlq', 'list'], {
      KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1',
      RAG_SERVING_LOG_LEVEL: 'INFO',
    });
    expect(code).toBe(1);
    expect(output).toMatch(/rag-serving: KAFKA_UNAVAILABLE: /);
    expect(output).not.toMatch(/^\s+at /m);
  });
});

describe('at log level DEBUG', () => {
  it('no command prints a text, a foreign field or a foreign header', async () => {
    await allowed('TOPIC', world.topic.topic, 'READ', 'WRITE', 'CREATE', 'DELETE');
    await allowed('GROUP', world.topic.group, 'READ', 'DELETE');
    await allowed('TRANSACTIONAL_ID', 'rag-serving.redrive.', 'WRITE');
    const odd = [
      'SENTINEL is no JSON',
      '{"chunk_id":{"SENTINEL":1}}',
      '{"chunk_id":"c","SENTINEL":"SENTINEL","metadata":{"SENTINEL":1}}',
    ];
    await world.write(odd.map((value, n) => world.letter(10 + n, {}, value)));
    const commands = [
      'list',
      'list --json',
      'stats',
      'stats --json',
      'replay --dry-run --json',
      'replay --yes',
      'replay --yes --json',
    ];
    const shows = [0, 2, 3, 4].flatMap((offset) => [`show 0:${offset}`, `show 0:${offset} --json`]);
    for (const command of [...commands, ...shows, 'purge --all --dry-run', 'purge --all --yes --json']) {
      const { code, output } = await run(['dlq', ...command.split(' ')]);
      expect(code, `${command}\n${output}`).toBe(0);
    }
  }, 120_000);
});
