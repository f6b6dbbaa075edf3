/**
 * Self-signed TLS certificates for tests. They are made here, so that no test needs a program that makes them, and none expires.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { DAY_MS } from '#lib/units.ts';

/** Properties of a certificate. By default it is valid from yesterday until tomorrow. */
export interface TestCertificateOptions {
  /**
   * The subject's name, by which a test tells certificates apart; a new one by default. A client that trusts two certificates with one name
   * checks signatures by the key of the first.
   */
  readonly name?: string;
  readonly validFrom?: Date;
  readonly validTo?: Date;
}

/** A certificate for `localhost` and `127.0.0.1`, in PEM. It is its own certificate authority, which a client can be told to trust. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
  /** In the format of `tls.PeerCertificate.fingerprint256`. */
  readonly fingerprint: string;
}

/** Makes a certificate with a new key (ECDSA, P-256). */
export function makeCertificate(options: TestCertificateOptions = {}): TestCertificate {
  const {
    name = `millrace test ${randomBytes(8).toString('hex')}`,
    validFrom = new Date(Date.now() - DAY_MS),
    validTo = new Date(Date.now() + DAY_MS),
  } = options;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const issuer = sequence(der(SET, sequence(objectId(0x55, 0x04, 0x03), der(UTF8, Buffer.from(name)))));
  // RFC 5280 §4.1: version 3, serial number, algorithm, issuer, validity, subject, key, extensions.
  const toBeSigned = sequence(
    der(0xa0, der(INTEGER, Buffer.of(2))),
    der(
      INTEGER,
      createHash('sha256')
        .update(publicKey.export({ type: 'spki', format: 'der' }))
        .digest()
        .fill(1, 0, 1),
    ),
    ecdsaWithSha256,
    issuer,
    sequence(time(validFrom), time(validTo)),
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension(0x13, sequence(der(BOOLEAN, Buffer.of(0xff)))), extension(0x11, alternativeNames()))),
  );
  const signature = sign('sha256', toBeSigned, privateKey);
  const certificate = sequence(toBeSigned, ecdsaWithSha256, der(BIT_STRING, Buffer.of(0), signature));
  const base64 = certificate.toString('base64').replace(/.{64}/g, '$&\n');
  const digest = createHash('sha256').update(certificate).digest('hex').toUpperCase();
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    fingerprint: digest.match(/../g)!.join(':'),
  };
}

/**
 * Writes a certificate to `cert.pem` and `key.pem` in a folder. Both replace older files at almost the same time, so that no server reads a
 * certificate with the key of another one. Returns the settings that name the files.
 */
export async function writeCertificate(folder: string, { cert, key }: TestCertificate) {
  const files = { MILLRACE_TLS_CERT: join(folder, 'cert.pem'), MILLRACE_TLS_KEY: join(folder, 'key.pem') };
  const written = Object.values(files).map((path) => [`${path}.new`, path] as const);
  await Promise.all([cert, key].map((text, index) => writeFile(written[index]![0], text)));
  for (const [from, to] of written) renameSync(from, to);
  return files;
}

/** The fingerprint of the certificate that a new connection gets at a port of this machine. */
export async function fingerprintAt(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

// Tags of ASN.1 (X.690 §8).
const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8 = 0x0c;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;

function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

const sequence = (...contents: readonly Uint8Array[]) => der(SEQUENCE, ...contents);
const objectId = (...bytes: readonly number[]) => der(OBJECT_ID, Buffer.from(bytes));
const time = (at: Date) => der(GENERALIZED_TIME, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(0, 14)}Z`));

/** One of `id-ce`, by its last number. */
const extension = (id: number, value: Buffer) => sequence(objectId(0x55, 0x1d, id), der(OCTET_STRING, value));

const alternativeNames = () => sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)));
