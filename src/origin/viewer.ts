/**
 * What tells viewers apart: their address and user agent. A node that asks another on a viewer's behalf says for whom, in a header
 * that only nodes can write, so that each viewer counts once, wherever it asks.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Secret } from '#domain/secret.ts';

/** Carries the viewer and the proof that a node wrote it. */
export const VIEWER_HEADER = 'x-millrace-viewer';

/** Longer user agents are cut: they are chosen by the caller. */
const MAX_USER_AGENT_LENGTH = 200;
/** 132 bits of a hash. */
const NAME_LENGTH = 22;

/** Names viewers, in a way that gives away neither address nor user agent. */
export class ViewerNames {
  readonly #secret: Secret | undefined;

  /** @param secret of all nodes; undefined where there is only one, which believes no header */
  constructor(secret: Secret | undefined) {
    this.#secret = secret;
  }

  /** Whom a request is for. */
  of(request: FastifyRequest): string {
    return this.forwarded(request) ?? nameOf(request);
  }

  /** Whom another node asks for; undefined when a viewer asks itself. */
  forwarded(request: FastifyRequest): string | undefined {
    const header = request.headers[VIEWER_HEADER];
    if (this.#secret === undefined || typeof header !== 'string') return undefined;
    const name = header.slice(0, NAME_LENGTH);
    const expected = Buffer.from(this.#sign(name, this.#secret));
    const given = Buffer.from(header);
    return given.length === expected.length && timingSafeEqual(given, expected) ? name : undefined;
  }

  /** The header for asking another node on behalf of who sent this request. */
  header(request: FastifyRequest): Readonly<Record<string, string>> {
    return this.#secret === undefined ? {} : { [VIEWER_HEADER]: this.#sign(nameOf(request), this.#secret) };
  }

  #sign(name: string, secret: Secret): string {
    return `${name}.${createHmac('sha256', secret.reveal()).update(name).digest('base64url')}`;
  }
}

function nameOf(request: FastifyRequest): string {
  const userAgent = request.headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? '';
  return hash('sha256', `${request.ip} ${userAgent}`, 'base64url').slice(0, NAME_LENGTH);
}
