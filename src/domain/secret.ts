/**
 * Secrets: a value that can be used but not printed, and the ways to make, hash and compare one.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';
import { randomText } from './ids.ts';

/**
 * Holds a stream key or API key so that printing, logging or serialising it shows `[redacted]`.
 * Only {@link Secret.reveal} returns the value. Call it only where the value is handed to its rightful reader.
 */
export class Secret {
  readonly #value: string;
  #hash: string | undefined;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. */
  reveal(): string {
    return this.#value;
  }

  /** SHA-256 of the value in lower-case hex, which stores keep and look up by. It is computed once. */
  hash(): string {
    // In one call, because a hash object made and collected for every request would be an eighth of the request's cost.
    this.#hash ??= hash('sha256', this.#value, 'hex');
    return this.#hash;
  }

  /** Whether both hold the same value, in time that depends on neither. */
  equals(other: Secret): boolean {
    const digest = (secret: Secret) => hash('sha256', secret.#value, 'buffer');
    return timingSafeEqual(digest(this), digest(other));
  }

  /** Returns `[redacted]`, so that no text contains the secret by accident. */
  toString(): string {
    return '[redacted]';
  }

  /** Returns `[redacted]`, so that no JSON contains the secret by accident. */
  toJSON(): string {
    return '[redacted]';
  }

  [inspect.custom](): string {
    return '[redacted]';
  }
}

/** A new stream key, `xxxx-xxxx-xxxx-xxxx`: 80 random bits. */
export function newStreamKey(): Secret {
  return new Secret(randomText(16).replace(/(.{4})(?=.)/g, '$1-'));
}

/** A new API key: 256 random bits after a prefix that secret scanners can look for. */
export function newApiKeySecret(): Secret {
  return new Secret(`millrace_${randomBytes(32).toString('base64url')}`);
}

/** A new secret of a browser: that of its cookie, or of a sign-in link. 256 random bits. */
export function newBrowserSecret(): Secret {
  return new Secret(randomBytes(32).toString('base64url'));
}

/** A new secret that the nodes of one database share: 256 random bits. */
export function newClusterSecret(): Secret {
  return new Secret(randomBytes(32).toString('base64url'));
}
