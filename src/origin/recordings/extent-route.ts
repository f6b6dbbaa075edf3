/**
 * Serves `/recordings/<path>/extent.json`, which tells other nodes how much there is by now of a recording that this node writes. It answers
 * nobody else.
 */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { isMediaPath } from '#domain/ids.ts';
import { sendAnswer } from '#origin/answer.ts';
import type { OriginContext } from '#origin/origin-context.ts';
import type { Library } from '#recording/recording.ts';

/** The path of the answer at the other node. @param path that of the recording */
export const extentPath = (path: string): string => `/recordings/${path}/extent.json`;

/** Adds the route. */
export function extentRoute(app: FastifyInstance, { viewers }: OriginContext, library: Library): void {
  app.get<{ Params: { path: string } }>(extentPath(':path'), async (request, reply) => {
    const { path } = request.params;
    const isAsked = isMediaPath(path) && viewers.told(request, path) !== undefined;
    const recorded = isAsked ? await library.open(path) : undefined;
    if (recorded === undefined) throw new MillraceError('not_found', 'There is no such recording.');
    const body = Buffer.from(JSON.stringify(recorded.extent));
    const headers = { 'content-type': 'application/json', 'content-length': body.length, 'cache-control': 'no-store' };
    return sendAnswer(reply, 200, headers, [body]);
  });
}
