/** Rights at a broker that asks for them. */
import kafkajs, { type AclEntry } from 'kafkajs';
import type { KafkaClient } from '../../src/kafka/client.ts';

export type Right = {
  readonly on: 'TOPIC' | 'GROUP' | 'TRANSACTIONAL_ID';
  readonly name: string;
  readonly to: 'READ' | 'WRITE' | 'CREATE' | 'DELETE' | 'DESCRIBE_CONFIGS';
};

/** @param names whether a name is all of it, or how it begins */
export async function allow(
  client: KafkaClient,
  username: string,
  names: 'LITERAL' | 'PREFIXED',
  rights: readonly Right[],
): Promise<void> {
  const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
  const admin = client.kafka.admin();
  await admin.connect();
  const acl = rights.map(
    ({ on, name, to }): AclEntry => ({
      resourceType: AclResourceTypes[on],
      resourceName: name,
      resourcePatternType: ResourcePatternTypes[names],
      principal: `User:${username}`,
      host: '*',
      operation: AclOperationTypes[to],
      permissionType: AclPermissionTypes.ALLOW,
    }),
  );
  await admin.createAcls({ acl });
  await admin.disconnect();
}
