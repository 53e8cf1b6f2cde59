/**
 * The settings of a single-node KRaft broker, sized for tests: few threads, one partition for each internal topic, no waiting
 * for more members of a group. Pure: ports and folders are arguments.
 *
 * Clients are told the advertised address of the listener they came in by; that is why a test's proxy needs a listener of its own.
 */

export type KafkaSecurity = {
  /** One user for SASL PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. */
  readonly sasl?: { readonly username: string; readonly password: string };
  /** The broker's certificate chain and its PKCS #8 key, as PEM text. */
  readonly tls?: { readonly certificate: string; readonly key: string };
};

export type KafkaLayout = KafkaSecurity & {
  readonly logDir: string;
  readonly port: number;
  readonly controllerPort: number;
  /** A further listener whose clients are sent to `advertisedPort`, where a proxy in front of it listens. */
  readonly proxied?: { readonly port: number; readonly advertisedPort: number };
  readonly securedPort?: number;
  /** Partitions of a topic that is created without a number. */
  readonly partitions: number;
  readonly maxMessageBytes?: number;
  /** Any further broker setting, by its own name; wins over ours. */
  readonly settings?: Readonly<Record<string, string>>;
};

export const SCRAM_MECHANISMS = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

const SIZED_FOR_TESTS = {
  'num.network.threads': '2',
  'num.io.threads': '2',
  'num.replica.fetchers': '1',
  'background.threads': '1',
  'num.recovery.threads.per.data.dir': '1',
  'log.cleaner.threads': '1',
  'log.cleaner.dedupe.buffer.size': '4194304',
  'log.index.size.max.bytes': '1048576',
  'log.segment.bytes': '268435456',
  'offsets.topic.num.partitions': '1',
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.num.partitions': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  // A broker that was killed may register again only when its former session has ended: 9 s unless shortened.
  'broker.session.timeout.ms': '3000',
  'broker.heartbeat.interval.ms': '500',
  'group.coordinator.threads': '1',
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '1000',
  'auto.create.topics.enable': 'false',
} as const;

/** Text of `server.properties`. */
export function brokerSettings(layout: KafkaLayout): string {
  const listeners = [
    { name: 'PLAINTEXT', protocol: 'PLAINTEXT', port: layout.port, advertised: layout.port },
    { name: 'CONTROLLER', protocol: 'PLAINTEXT', port: layout.controllerPort, advertised: layout.controllerPort },
  ];
  if (layout.proxied !== undefined) {
    const { port, advertisedPort } = layout.proxied;
    listeners.push({ name: 'PROXIED', protocol: 'PLAINTEXT', port, advertised: advertisedPort });
  }
  if (layout.securedPort !== undefined) {
    const port = layout.securedPort;
    listeners.push({ name: 'SECURED', protocol: securedProtocol(layout), port, advertised: port });
  }
  const reachable = listeners.filter(({ name }) => name !== 'CONTROLLER');
  return properties({
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${layout.controllerPort}`,
    listeners: listeners.map(({ name, port }) => `${name}://127.0.0.1:${port}`).join(','),
    'advertised.listeners': reachable.map(({ name, advertised }) => `${name}://127.0.0.1:${advertised}`).join(','),
    'listener.security.protocol.map': listeners.map(({ name, protocol }) => `${name}:${protocol}`).join(','),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': layout.logDir,
    'num.partitions': String(layout.partitions),
    ...SIZED_FOR_TESTS,
    ...(layout.maxMessageBytes === undefined ? {} : sizeLimits(layout.maxMessageBytes)),
    ...(layout.securedPort === undefined ? {} : security(layout)),
    ...layout.settings,
  });
}

/** A broker that takes a large message must also hand it out: the fetch limits follow the message limit. */
function sizeLimits(bytes: number): Record<string, string> {
  return {
    'message.max.bytes': String(bytes),
    'replica.fetch.max.bytes': String(bytes),
    'socket.request.max.bytes': String(Math.max(104_857_600, bytes + 1_048_576)),
  };
}

function securedProtocol({ sasl, tls }: KafkaSecurity): string {
  if (sasl !== undefined) return tls === undefined ? 'SASL_PLAINTEXT' : 'SASL_SSL';
  return 'SSL';
}

function security({ sasl, tls }: KafkaSecurity): Record<string, string> {
  const settings: Record<string, string> = {};
  const own = 'listener.name.secured';
  if (sasl !== undefined) {
    const { username, password } = sasl;
    const plain = 'org.apache.kafka.common.security.plain.PlainLoginModule';
    const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule';
    settings[`${own}.sasl.enabled.mechanisms`] = ['PLAIN', ...SCRAM_MECHANISMS].join(',');
    settings[`${own}.plain.sasl.jaas.config`] = `${plain} required user_${username}="${password}";`;
    for (const mechanism of SCRAM_MECHANISMS) {
      settings[`${own}.${mechanism.toLowerCase()}.sasl.jaas.config`] = `${scram} required;`;
    }
  }
  if (tls !== undefined) {
    settings[`${own}.ssl.keystore.type`] = 'PEM';
    settings[`${own}.ssl.keystore.certificate.chain`] = tls.certificate;
    settings[`${own}.ssl.keystore.key`] = tls.key;
  }
  return settings;
}

function properties(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${escaped(value)}`);
  return `${lines.join('\n')}\n`;
}

/** A properties file ends a value at the line's end; PEM text has many lines. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
