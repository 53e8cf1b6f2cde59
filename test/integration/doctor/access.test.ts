/** `rag-serving doctor` at a broker that asks who it is and what it may: each missing right is named, none is used. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunningKafka, startKafka } from '../../../scripts/stack/kafka.ts';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { Authority } from '../../support/certificates.ts';
import { allow, type Right } from '../../support/kafka-rights.ts';
import type { Env } from '../worker/harness.ts';
import { type Diagnosis, DoctorWorld } from './doctor-world.ts';

const sasl = { username: 'ingest', password: 'pw-SENTINEL-right' };
const authority = new Authority();
let kafka: RunningKafka;
let world: DoctorWorld;
let caPath: string;

beforeAll(async () => {
  const { cert: certificate, key } = authority.issue('broker.test', 'DNS:localhost,IP:127.0.0.1');
  kafka = await startKafka({
    sasl,
    tls: { certificate, key },
    settings: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // The plain listener, which only the test uses.
      'super.users': 'User:ANONYMOUS',
    },
  });
}, 600_000);
beforeEach(async () => {
  world = new DoctorWorld(kafka.bootstrapServers);
  caPath = join(world.folder, 'ca.pem');
  writeFileSync(caPath, authority.cert);
  await world.topic.create(1);
});
afterEach(async () => {
  await killAllPrograms();
  await world.close();
});
afterAll(async () => {
  await kafka?.stop();
  authority.remove();
});

async function diagnose(more: Env = {}): Promise<Diagnosis> {
  const end = await world.diagnose(['--only', 'settings,kafka'], {
    KAFKA_BOOTSTRAP_SERVERS: kafka.securedServers,
    KAFKA_TLS_ENABLED: 'true',
    KAFKA_CA_CERT_PATH: caPath,
    KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
    KAFKA_SASL_USERNAME: sasl.username,
    KAFKA_SASL_PASSWORD: sasl.password,
    ...more,
  });
  expect(end.output).not.toContain('SENTINEL');
  return end;
}

function allowed(on: Right['on'], name: string, ...operations: readonly Right['to'][]): Promise<void> {
  const rights = operations.map((to) => ({ on, name, to }));
  return allow(world.topic.client, sasl.username, 'LITERAL', rights);
}

const count = async () => (await world.committed(world.dlq)).length;

describe('rag-serving doctor at a broker with TLS, SASL and rights', () => {
  it('each right by itself, and nothing is written by finding out', async () => {
    const { topic, group } = world.topic;
    const unseen = await diagnose();
    expect(unseen.code, unseen.output).toBe(1);
    expect(unseen.of('brokers')).toMatchObject({ outcome: 'ok' });
    expect(unseen.of('certificates')).toMatchObject({ outcome: 'warn', found: expect.stringContaining('(1 days)') });
    expect(unseen.of('topic')).toMatchObject({ outcome: 'fail', found: expect.stringContaining('may not be seen') });
    expect(unseen.of('dead letters')).toMatchObject({ outcome: 'warn', remedy: expect.stringContaining('CREATE') });

    // WRITE brings DESCRIBE along.
    await allowed('TOPIC', topic, 'WRITE');
    const unread = await diagnose();
    expect(unread.of('topic').found).toMatch(/KAFKA_ACCESS_DENIED: cannot read topic .*TOPIC_AUTHORIZATION_FAILED/);

    await allowed('TOPIC', topic, 'READ');
    const noGroup = await diagnose();
    expect(noGroup.of('topic')).toMatchObject({ outcome: 'ok' });
    expect(noGroup.of('group').found).toMatch(/KAFKA_ACCESS_DENIED: cannot use group .*GROUP_AUTHORIZATION_FAILED/);

    // DELETE brings DESCRIBE along, with which the group is seen and not used.
    await allowed('GROUP', group, 'DELETE');
    expect((await diagnose()).of('group').found).toMatch(/cannot use group .*GROUP_AUTHORIZATION_FAILED/);

    await allowed('GROUP', group, 'READ');
    await world.write([world.letter(1)]);
    await allowed('TOPIC', world.dlq, 'READ');
    const noLetters = await diagnose();
    expect(noLetters.of('group'), noLetters.output).toMatchObject({ outcome: 'ok' });
    expect(noLetters.of('dead letters').found).toMatch(/cannot write to topic .*TOPIC_AUTHORIZATION_FAILED/);

    await allowed('TOPIC', world.dlq, 'WRITE');
    const well = await diagnose();
    expect(well.code, well.output).toBe(0);
    expect(well.of('dead letters')).toMatchObject({ outcome: 'ok' });
    expect(await count()).toBe(1);
  });

  it('a wrong password, an unknown authority and a listener without TLS are told apart', async () => {
    const password = await diagnose({ KAFKA_SASL_PASSWORD: 'pw-SENTINEL-wrong' });
    expect(password.code).toBe(1);
    expect(password.of('brokers')).toMatchObject({
      outcome: 'fail',
      found: expect.stringContaining('KAFKA_ACCESS_DENIED'),
      remedy: expect.stringContaining('KAFKA_SASL_PASSWORD'),
    });
    const [unknown, plain] = await Promise.all([
      diagnose({ KAFKA_CA_CERT_PATH: '' }),
      diagnose({ KAFKA_BOOTSTRAP_SERVERS: kafka.bootstrapServers }),
    ]);
    expect(unknown.of('brokers'), unknown.output).toMatchObject({ remedy: expect.stringContaining('CA file') });
    expect(plain.of('brokers'), plain.output).toMatchObject({ outcome: 'fail' });
  });
});
