/** What S3 and Node say, read into codes; the server's own words are never repeated. */
import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { asS3Error } from '../../../src/registry/s3/s3-errors.ts';

const place = { bucket: 'b', endpoint: undefined, region: 'eu-west-1' };

function told(facts: { name?: string; code?: string; status?: number }): unknown {
  const error = Object.assign(new Error('key AKIA-SENTINEL'), {
    name: facts.name ?? 'Error',
    ...(facts.code && { code: facts.code }),
    ...(facts.status && { $metadata: { httpStatusCode: facts.status } }),
  });
  return asS3Error(error, place, 'reading x');
}

describe('asS3Error', () => {
  const cases: [facts: Parameters<typeof told>[0], code: string, says: RegExp][] = [
    [{ name: 'CredentialsProviderError' }, 'REGISTRY_ACCESS_DENIED', /no credentials.*AWS_PROFILE/],
    [{ name: 'ExpiredTokenException', status: 400 }, 'REGISTRY_ACCESS_DENIED', /expired/],
    [{ name: '403', status: 403 }, 'REGISTRY_ACCESS_DENIED', /may not do this/],
    [{ name: 'AuthorizationHeaderMalformed', status: 400 }, 'REGISTRY_ACCESS_DENIED', /another region than eu-west-1/],
    [{ code: 'ENOTFOUND' }, 'REGISTRY_UNAVAILABLE', /cannot be reached \(ENOTFOUND\)/],
    [{ code: 'CERT_HAS_EXPIRED' }, 'REGISTRY_UNAVAILABLE', /not trusted.*RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH/],
    [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'REGISTRY_UNAVAILABLE', /not trusted/],
    [{ code: 'HPE_INVALID_CONSTANT' }, 'REGISTRY_UNAVAILABLE', /is no S3/],
    [{ name: 'TimeoutError' }, 'REGISTRY_UNAVAILABLE', /failed, and again/],
    [{ code: 'ECONNRESET' }, 'REGISTRY_UNAVAILABLE', /ECONNRESET/],
    [{ name: 'SlowDown', status: 503 }, 'REGISTRY_UNAVAILABLE', /SlowDown, HTTP 503/],
    [{ name: 'NotImplemented', status: 501 }, 'REGISTRY_NOT_FOUND', /does not know it/],
    [{ name: 'key AKIA-SENTINEL', status: 500 }, 'REGISTRY_UNAVAILABLE', /an unknown error, HTTP 500/],
  ];
  for (const [facts, code, says] of cases) {
    it(`${facts.name ?? facts.code} is ${code}`, () => {
      const error = told(facts);
      expect(error).toMatchObject({ code });
      expect((error as Error).message).toMatch(says);
      expect(`${(error as Error).message} ${JSON.stringify(error)}`).not.toContain('SENTINEL');
    });
  }
  it('names the server without a password in its address', () => {
    const own = { ...place, endpoint: 'http://u:SENTINEL@store:9000/x' };
    const error = asS3Error(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), own, 'reading x') as Error;
    expect(error.message).toMatch(/http:\/\/store:9000 cannot be reached/);
    expect(error.message).not.toContain('SENTINEL');
  });
  it('leaves what is not of S3: errors of the disk, of ours, of a signal', () => {
    const disk = Object.assign(new Error('x'), { code: 'ENOENT' });
    const ours = new ServingError('DISK_FULL', 'x');
    const abort = Object.assign(new Error('x'), { name: 'AbortError' });
    for (const error of [disk, ours, abort, 'text']) expect(asS3Error(error, place, 'x')).toBe(error);
  });
});
