/**
 * Who may watch a recording while it runs: its viewers are those of the stream, or, without DVR, only its owner.
 */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { UserId } from '#domain/ids.ts';
import type { OriginContext } from '#origin/origin-context.ts';
import type { FoundRecording } from './recordings.ts';

/** What decides who may watch a recording while it runs. */
export interface RecordingRights {
  /** Whether viewers may watch a recording while it runs. */
  readonly dvr: boolean;
  /** Whether a request has an API key of a user. */
  readonly isOwner: (request: FastifyRequest, userId: UserId) => Promise<boolean>;
}

/** Whether this recording still grows, so that its viewers are viewers of the stream. False for a clip, even of such a recording. */
export const isRunning = ({ asset, recording }: FoundRecording): boolean =>
  asset.kind === 'recording' && recording.phase === 'recording';

/** Whether only the owner may watch for now, so that no cache may keep what the owner gets. */
export const isOwnersOnly = (found: FoundRecording, { dvr }: Pick<RecordingRights, 'dvr'>): boolean =>
  !dvr && isRunning(found);

/** Whether a request has an API key or a token of the owner of a recording. @throws {MillraceError} `store_unavailable` */
export async function isOwners(
  request: FastifyRequest,
  { asset, subject }: FoundRecording,
  { gate }: OriginContext,
  { isOwner }: Pick<RecordingRights, 'isOwner'>,
): Promise<boolean> {
  return (await isOwner(request, asset.userId)) || (await gate.ownersAdmission(request, subject)) !== undefined;
}

/** The refusal of everybody but the owner. */
export function ownersOnly(): MillraceError {
  return new MillraceError(
    'playback_unauthorized',
    'This recording is still running. Until it has ended, only its owner may watch it, with an API key or an owner token.',
  );
}
