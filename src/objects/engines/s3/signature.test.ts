import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { Secret } from '#domain/secret.ts';
import { ms } from '#lib/units.ts';
import { encodedPath, encodedQuery, signedHeaders, UNSIGNED_PAYLOAD, type UnsignedRequest } from './signature.ts';

/** The examples of Amazon S3's API reference, "Signature Calculations for the Authorization Header". */
const SIGNER = {
  region: 'us-east-1',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: new Secret('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'),
};
const REQUEST: UnsignedRequest = {
  method: 'GET',
  path: '/',
  query: {},
  headers: { host: 'examplebucket.s3.amazonaws.com' },
  payloadHash: hash('sha256', ''),
  at: ms(Date.UTC(2013, 4, 24)),
};

const EXAMPLES: readonly { what: string; request: Partial<UnsignedRequest>; names: string; signature: string }[] = [
  {
    what: 'GET with a range',
    request: { path: '/test.txt', headers: { ...REQUEST.headers, range: 'bytes=0-9' } },
    names: 'host;range;x-amz-content-sha256;x-amz-date',
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    what: 'PUT',
    request: {
      method: 'PUT',
      path: encodedPath('/test$file.text'),
      headers: {
        ...REQUEST.headers,
        date: 'Fri, 24 May 2013 00:00:00 GMT',
        'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      },
      payloadHash: hash('sha256', 'Welcome to Amazon S3.'),
    },
    names: 'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  },
  {
    what: 'GET of a bucket property',
    request: { query: { lifecycle: '' } },
    names: 'host;x-amz-content-sha256;x-amz-date',
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  },
  {
    what: 'GET of a list',
    request: { query: { prefix: 'J', 'max-keys': '2' } },
    names: 'host;x-amz-content-sha256;x-amz-date',
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  },
];

for (const { what, request, names, signature } of EXAMPLES) {
  test(`${what} is signed as in Amazon's examples`, () => {
    assert.equal(
      signedHeaders({ ...REQUEST, ...request }, SIGNER).authorization,
      `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
    );
  });
}

/** Signed by botocore 1.43.11, the library of AWS's own tools, on 23 November 2026 at 21:30:05. */
const BY_BOTOCORE: readonly { what: string; request: Omit<UnsignedRequest, 'at'>; signature: string }[] = [
  {
    what: 'PUT with the hash of its payload',
    request: {
      method: 'PUT',
      path: '/recordings/some/prefix/k3v9/source.0.mp4',
      query: {},
      headers: { 'content-length': '5', 'content-type': 'application/octet-stream' },
      payloadHash: hash('sha256', '12345'),
    },
    signature: 'd3ab02de399ef25ba93bbe1aa5bbb04096aeac49000da6127288a1eb7dd50ca1',
  },
  {
    what: 'PUT without the hash of its payload',
    request: {
      method: 'PUT',
      path: encodedPath('/recordings/k3v9/~1.12.mp4'),
      query: {},
      headers: { 'content-length': '5', 'content-type': 'application/octet-stream' },
      payloadHash: UNSIGNED_PAYLOAD,
    },
    signature: '1489844cc673bb2c4ff1f80b530b56f765e46540ab4841de35381b70cff9c654',
  },
  {
    what: 'GET with a range',
    request: {
      method: 'GET',
      path: encodedPath('/b/p/HD_1-a.0.mp4'),
      query: {},
      headers: { range: 'bytes=5-99' },
      payloadHash: UNSIGNED_PAYLOAD,
    },
    signature: '40f5955f1349b417253b761495177315869df3598ae621c9527c78eb50cb8ddf',
  },
  {
    what: 'GET of a later page of a list',
    request: {
      method: 'GET',
      path: '/b',
      query: { 'list-type': '2', prefix: 'p/a', 'continuation-token': "1+/= &()'*" },
      headers: {},
      payloadHash: hash('sha256', ''),
    },
    signature: 'defe64234ea32464cdb423b51a5689d04a74ba2952d1317503ac5ff41bd12101',
  },
  {
    what: 'DELETE',
    request: { method: 'DELETE', path: '/b/p/k', query: {}, headers: {}, payloadHash: hash('sha256', '') },
    signature: '18616de9fb9ea05177f711fd32c384908a5adeb813c7a9db340b07db13745b87',
  },
  {
    what: 'HEAD',
    request: { method: 'HEAD', path: '/b/p/k', query: {}, headers: {}, payloadHash: UNSIGNED_PAYLOAD },
    signature: '70eb14e9ea53f00042a5fb802c3c49571eb8a59b5063d1c18ce3c888da5299fc',
  },
];
for (const { what, request, signature } of BY_BOTOCORE) {
  test(`${what} is signed as botocore signs it`, () => {
    const signer = {
      region: 'eu-west-3',
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: new Secret('a/secret+key/0123456789'),
    };
    const headers = { ...request.headers, host: 's3.example.com' };
    const signed = signedHeaders({ ...request, headers, at: ms(Date.UTC(2026, 10, 23, 21, 30, 5)) }, signer);
    assert.equal(signed.authorization!.split('Signature=')[1], signature);
  });
}

test('paths and queries are encoded by the rules of S3, which are stricter than those of URLs', () => {
  assert.equal(encodedPath("/a b/~x_1.mp4/(1)'!*+"), '/a%20b/~x_1.mp4/%281%29%27%21%2A%2B');
  assert.equal(encodedQuery({ prefix: 'a/b', 'list-type': '2', z: 'x y' }), 'list-type=2&prefix=a%2Fb&z=x%20y');
});

test('neither the signer nor the signed headers show the secret key', () => {
  const shown = inspect([SIGNER, signedHeaders(REQUEST, SIGNER)], { depth: 9 }) + JSON.stringify(SIGNER);
  assert.ok(!shown.includes('wJalrXUtnFEMI'));
});
