/**
 * What tells viewers apart: their address and user agent.
 */
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** Longer user agents are cut: they are chosen by the caller. */
const MAX_USER_AGENT_LENGTH = 200;

/** The viewer a request comes from, as a short name that gives away neither address nor user agent. */
export function viewerOf(request: FastifyRequest): string {
  const userAgent = request.headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? '';
  return hash('sha256', `${request.ip} ${userAgent}`, 'base64url').slice(0, 22);
}
