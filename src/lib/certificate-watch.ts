/**
 * A certificate that is kept up to date while the server runs.
 */
import { stat } from 'node:fs/promises';
import { type Certificate, type CertificateFiles, loadCertificate } from './certificate.ts';

/** Observes a certificate after its first loading. */
export interface CertificateObserver {
  /** Called when the files were loaded again. They may hold the same certificate. */
  readonly renewed: (certificate: Certificate) => void;
  /** Called once when changed files cannot be used, and again when the reason is another one. The certificate in use stays. */
  readonly refused: (error: unknown) => void;
}

/**
 * How often the files are checked, with two `stat` calls. Events of the file system would miss changes to the targets of links, which is
 * how certbot and Kubernetes renew.
 */
export const CHECK_EVERY_MS = 1000;

/** The number of checks after which files that were refused are loaded again. The reason may be gone without a change of the files. */
const RETRY_AFTER_CHECKS = 30;

/**
 * Keeps a certificate up to date with its two files. Checks once a second whether they have changed. After a change it waits for a check at
 * which they are the same as at the one before, and then loads them: the two files cannot be replaced in one step, and a new file beside an
 * old one is not an error yet. Files that cannot be loaded are tried again every 30 seconds. Disposing it ends the checks.
 */
export class CertificateWatch implements Disposable {
  readonly #files: CertificateFiles;
  readonly #observers: CertificateObserver[] = [];
  readonly #timer: NodeJS.Timeout;
  #current: Certificate;
  /** The state of the files that were loaded last, whether they were accepted or refused. */
  #loaded: string;
  #seen: string;
  /** Why the files that were loaded last were refused. Undefined when they were accepted. */
  #refusal: string | undefined;
  #checksSinceLoading = 0;
  #isChecking = false;

  private constructor(files: CertificateFiles, current: Certificate, state: string) {
    this.#files = files;
    this.#current = current;
    this.#loaded = state;
    this.#seen = state;
    this.#timer = setInterval(() => void this.#check(), CHECK_EVERY_MS).unref();
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

  async #check(): Promise<void> {
    this.#checksSinceLoading += 1;
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const state = await stateOf(this.#files);
      const isUnchanged = state === this.#seen;
      this.#seen = state;
      const isRetry = this.#refusal !== undefined && this.#checksSinceLoading >= RETRY_AFTER_CHECKS;
      if (isUnchanged && (state !== this.#loaded || isRetry)) await this.#load(state);
    } finally {
      this.#isChecking = false;
    }
  }

  async #load(state: string): Promise<void> {
    const refusalBefore = state === this.#loaded ? this.#refusal : undefined;
    this.#loaded = state;
    this.#checksSinceLoading = 0;
    try {
      this.#current = await loadCertificate(this.#files);
    } catch (error) {
      this.#refusal = String(error);
      if (this.#refusal === refusalBefore) return;
      for (const { refused } of this.#observers) refused(error);
      return;
    }
    this.#refusal = undefined;
    for (const { renewed } of this.#observers) renewed(this.#current);
  }
}

/** A text that changes whenever one of the files is written or replaced, or its owner or rights change. Never rejects. */
async function stateOf({ certFile, keyFile }: CertificateFiles): Promise<string> {
  const states = await Promise.all(
    [certFile, keyFile].map((file) =>
      stat(file).then(
        ({ dev, ino, size, mode, mtimeMs, ctimeMs }) => [dev, ino, size, mode, mtimeMs, ctimeMs].join(),
        (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
      ),
    ),
  );
  return states.join(' ');
}
