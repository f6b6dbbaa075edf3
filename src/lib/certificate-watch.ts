/**
 * A certificate that is kept up to date while the server runs.
 */
import { stat } from 'node:fs/promises';
import { type Certificate, type CertificateFiles, loadCertificate } from './certificate.ts';

/** What there is to tell of a certificate after its first reading. */
export interface CertificateObserver {
  /** It was replaced. */
  readonly renewed: (certificate: Certificate) => void;
  /** The files have changed into something that is no use; the certificate in use stays. Told once for each change. */
  readonly refused: (error: unknown) => void;
}

/**
 * How often it looks, which costs two `stat` calls. Events of the file system would miss what is done to the targets of links, which
 * is how certbot and Kubernetes renew.
 */
export const LOOK_EVERY_MS = 1000;

/**
 * The certificate in two files. Looks once a second whether they have changed, and reads them anew when they have held
 * still for one look: the two cannot be replaced in one step, and half of an old pair beside half of a new one is no fault.
 * Disposing it ends the looking.
 */
export class CertificateWatch implements Disposable {
  readonly #files: CertificateFiles;
  readonly #observers: CertificateObserver[] = [];
  readonly #timer: NodeJS.Timeout;
  #current: Certificate;
  /** The state of the files that was judged last, whether it was taken or refused. */
  #judged: string;
  #seen: string;
  #isLooking = false;

  private constructor(files: CertificateFiles, current: Certificate, state: string) {
    this.#files = files;
    this.#current = current;
    this.#judged = state;
    this.#seen = state;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref();
  }

  /**
   * Reads the files for the first time.
   * @throws {CertificateError} see {@link loadCertificate}
   */
  static async open(files: CertificateFiles): Promise<CertificateWatch> {
    const state = await stateOf(files);
    return new CertificateWatch(files, await loadCertificate(files), state);
  }

  /** The one to show to whoever connects now. */
  get current(): Certificate {
    return this.#current;
  }

  /** Tells what happens from now on. */
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
      if (holdsStill && state !== this.#judged) await this.#judge(state);
    } finally {
      this.#isLooking = false;
    }
  }

  async #judge(state: string): Promise<void> {
    this.#judged = state;
    try {
      this.#current = await loadCertificate(this.#files);
    } catch (error) {
      for (const { refused } of this.#observers) refused(error);
      return;
    }
    for (const { renewed } of this.#observers) renewed(this.#current);
  }
}

/** Which files these are now: another text whenever one of them was written or replaced. Never rejects. */
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
