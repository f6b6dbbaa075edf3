/**
 * A certificate that is kept up to date while the server runs.
 */
import { stat } from 'node:fs/promises';
import { type Certificate, type CertificateFiles, loadCertificate } from './certificate.ts';

/** Observes a certificate after its first loading. */
export interface CertificateObserver {
  /** Called when the certificate was replaced. */
  readonly renewed: (certificate: Certificate) => void;
  /** Called once for each change of the files into something unusable. The certificate in use stays. */
  readonly refused: (error: unknown) => void;
}

/**
 * How often the files are checked, with two `stat` calls. Events of the file system would miss changes to the targets of links, which is
 * how certbot and Kubernetes renew.
 */
export const LOOK_EVERY_MS = 1000;

/**
 * Keeps the certificate of two files up to date. Checks once a second whether they have changed, and loads them again when they have not
 * changed since the last check: the two cannot be replaced in one step, and one old file with one new file is no fault. Disposing it ends
 * the checks.
 */
export class CertificateWatch implements Disposable {
  readonly #files: CertificateFiles;
  readonly #observers: CertificateObserver[] = [];
  readonly #timer: NodeJS.Timeout;
  #current: Certificate;
  /** The state of the files that were loaded last, whether they were accepted or refused. */
  #loaded: string;
  #seen: string;
  #isLooking = false;

  private constructor(files: CertificateFiles, current: Certificate, state: string) {
    this.#files = files;
    this.#current = current;
    this.#loaded = state;
    this.#seen = state;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref();
  }

  /**
   * Loads the files for the first time.
   * @throws {CertificateError} see {@link loadCertificate}
   */
  static async open(files: CertificateFiles): Promise<CertificateWatch> {
    const state = await stateOf(files);
    return new CertificateWatch(files, await loadCertificate(files), state);
  }

  /** The certificate for new connections. */
  get current(): Certificate {
    return this.#current;
  }

  /** Adds an observer of later changes. */
  observe(observer: CertificateObserver): void {
    this.#observers.push(observer);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const state = await stateOf(this.#files);
      const holdsStill = state === this.#seen;
      this.#seen = state;
      if (holdsStill && state !== this.#loaded) await this.#load(state);
    } finally {
      this.#isLooking = false;
    }
  }

  async #load(state: string): Promise<void> {
    this.#loaded = state;
    try {
      this.#current = await loadCertificate(this.#files);
    } catch (error) {
      for (const { refused } of this.#observers) refused(error);
      return;
    }
    for (const { renewed } of this.#observers) renewed(this.#current);
  }
}

/** A text that changes whenever one of the files is written or replaced. Never rejects. */
async function stateOf({ certFile, keyFile }: CertificateFiles): Promise<string> {
  const states = await Promise.all(
    [certFile, keyFile].map((file) =>
      stat(file).then(
        ({ dev, ino, size, mtimeMs }) => [dev, ino, size, mtimeMs].join(),
        (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
      ),
    ),
  );
  return states.join(' ');
}
