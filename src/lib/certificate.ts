/**
 * A TLS certificate with its private key: read from two PEM files, and checked before anybody is shown it.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { type Milliseconds, ms } from './units.ts';

/** Where a certificate and its key lie. */
export interface CertificateFiles {
  /** PEM: the server's own certificate first, then those that vouch for it. */
  readonly certFile: string;
  /** PEM, without a passphrase. */
  readonly keyFile: string;
}

/** A certificate that fits its key. It may have expired: that is for its owner to say, and better than no service. */
export interface Certificate {
  /** What `node:tls` takes; holds the private key. */
  readonly options: Pick<SecureContextOptions, 'cert' | 'key' | 'minVersion'>;
  /** Made of the options once, for every connection. */
  readonly context: SecureContext;
  /** Wall clock. */
  readonly validFrom: Milliseconds;
  /** Wall clock. */
  readonly validTo: Milliseconds;
}

/** A pair of files is no use; the message is a sentence that names the file and what is wrong with it. */
export class CertificateError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CertificateError';
  }
}

/** TLS 1.0 and 1.1 are deprecated (RFC 8996); every player and encoder that is still updated has 1.2. */
const MIN_VERSION = 'TLSv1.2';

/** @throws {CertificateError} when the files cannot be read, are no PEM, do not belong together or are too weak to use */
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

/** Runs what OpenSSL may refuse. Its reasons name neither bytes of the key nor a file. */
function attempt<Result>(run: () => Result, otherwise: string): Result {
  try {
    return run();
  } catch (error) {
    throw new CertificateError(`${otherwise} (${(error as Error).message}).`, { cause: error });
  }
}
