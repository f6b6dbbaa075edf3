/**
 * A TLS certificate with its private key: read from two PEM files, and checked before use.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { type Milliseconds, ms } from './units.ts';

/** The files of a certificate and its key. */
export interface CertificateFiles {
  /** PEM: the server's own certificate first, then the intermediate certificates. */
  readonly certFile: string;
  /** PEM, without a passphrase. */
  readonly keyFile: string;
}

/** A certificate that fits its key. It may have expired: its owner decides whether to use it. */
export interface Certificate {
  /** Options for `node:tls`, with the private key. */
  readonly options: Pick<SecureContextOptions, 'cert' | 'key' | 'minVersion'>;
  /** Made from the options once, for all connections. */
  readonly context: SecureContext;
  /** Wall clock. */
  readonly validFrom: Milliseconds;
  /** Wall clock. */
  readonly validTo: Milliseconds;
}

/** A pair of files cannot be used. The message is a sentence that names the file and what is wrong with it. */
export class CertificateError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CertificateError';
  }
}

/** TLS 1.0 and 1.1 are deprecated (RFC 8996); every player and encoder that is still updated has 1.2. */
const MIN_VERSION = 'TLSv1.2';

/** Loads a certificate. @throws {CertificateError} when its files cannot be read, are not PEM, do not belong together or are too weak */
export async function loadCertificate({ certFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([read('certificate', certFile), read('private key', keyFile)]);
  const leaf = attempt(() => new X509Certificate(cert), `The file ${certFile} holds no certificate in PEM`);
  const privateKey = attempt(
    () => createPrivateKey(key),
    `The file ${keyFile} holds no private key in PEM without a passphrase`,
  );
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new CertificateError(
      `The private key in ${keyFile} does not belong to the first certificate in ${certFile}.`,
    );
  }
  const options = { cert, key, minVersion: MIN_VERSION } as const;
  const context = attempt(() => createSecureContext(options), `The certificate in ${certFile} cannot be used for TLS`);
  return {
    options,
    context,
    validFrom: ms(Date.parse(leaf.validFrom)),
    validTo: ms(Date.parse(leaf.validTo)),
  };
}

async function read(what: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CertificateError(`The ${what} ${file} cannot be read (${code}).`, { cause: error });
  }
}

/** Runs a function that OpenSSL may refuse. OpenSSL's messages contain neither bytes of the key nor a file name. */
function attempt<Result>(run: () => Result, otherwise: string): Result {
  try {
    return run();
  } catch (error) {
    throw new CertificateError(`${otherwise} (${(error as Error).message}).`, { cause: error });
  }
}
