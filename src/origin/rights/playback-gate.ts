/**
 * The playback gate before every playlist, picture and MP4. It admits requests that have a right to watch under the owner's playback
 * policy.
 *
 * For live streams, the node that a viewer asks makes the check, and the nodes that it asks do not check again. For recordings, each node
 * checks. Whoever knows the address of a segment gets it, because it can be learned only from a playlist. The exception is a running
 * recording without DVR: only its owner gets its segments at addresses without a proof.
 */
import type { FastifyRequest } from 'fastify';
import { type ErrorCode, MillraceError } from '#domain/errors.ts';
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import { isOwnerToken, type OwnerClaim, OwnerTokens } from '#domain/owner-token.ts';
import { isRestricted, type PlaybackPolicy, type RefusalReason } from '#domain/playback-policy.ts';
import type { Secret } from '#domain/secret.ts';
import type { Clock } from '#lib/clock.ts';
import type { WatchedStream } from '#live/live.ts';
import { credentialsOf, MAX_ACCESS_KEY_LENGTH } from './credentials.ts';
import { type AskReceiver, GateCalls } from './gate-calls.ts';
import { MediaProofs } from './media-proofs.ts';
import { isAllowedOrigin, pageOriginOf } from './page-origin.ts';
import { PlaybackTokens } from './playback-tokens.ts';
import { RightsDirectory, type RightsDirectoryOptions } from './rights-directory.ts';
import { type TicketContents, Tickets } from './tickets.ts';

/** The options of a playback gate. */
export interface PlaybackGateOptions extends RightsDirectoryOptions {
  /** The secret of all nodes. */
  readonly secret: Secret;
  readonly clock: Clock;
  /** Calls the receiver of a policy of type `webhook`. */
  readonly askReceiver: AskReceiver;
  /** Called at every refusal, before it is answered. */
  readonly onRefused: (stream: WatchedStream, reason: RefusalReason) => void;
}

/** What a request asks for, as far as rights depend on it. */
export interface PlaybackSubject {
  /** The stream, with the policy that applies. */
  readonly stream: WatchedStream;
  /** The playback id that tickets are for. */
  readonly playbackId: PlaybackId;
  /** The playback ids that tokens may be for. */
  readonly tokensFor: readonly PlaybackId[];
  /** The playback id that gate calls name. */
  readonly callsFor: PlaybackId;
}

/** How an admitted request is answered. */
export type PlaybackAdmission =
  | { readonly restricted: false }
  | {
      /** Answers depend on the viewer, so no cache may keep them. */
      readonly restricted: true;
      readonly policy: PlaybackPolicy;
      /** Makes a ticket for the credentials that were shown. Undefined when no credentials are needed again. */
      readonly ticket: (() => string) | undefined;
    };

const OPEN: PlaybackAdmission = { restricted: false };
/** The policy in the proofs for media of a public stream that only the owner may watch for now. */
const OWNERS_ONLY: PlaybackPolicy = { type: 'public' };

/** The texts of refusals. */
const SENTENCES: Readonly<Partial<Record<RefusalReason, string>>> = {
  no_credentials: 'This stream is not public: a playback token or access key is needed to watch it.',
  expired: 'The playback token has expired; get a new one where you got this one.',
  early: 'The playback token is not valid yet; try again when its time has come.',
  origin_not_allowed: 'The owner of this stream does not allow this page to play it.',
};
/** The reasons of refusals for the errors that a check throws. */
const REASONS_OF_ERRORS: Readonly<Partial<Record<ErrorCode, RefusalReason>>> = {
  playback_check_failed: 'webhook_failed',
  too_many_attempts: 'too_many_attempts',
};
const NO_RIGHT = 'This playback token or access key gives no right to watch this stream.';

/** Checks requests for streams. */
export class PlaybackGate {
  readonly #options: PlaybackGateOptions;
  readonly #directory: RightsDirectory;
  readonly #tokens: PlaybackTokens;
  readonly #ownerTokens: OwnerTokens;
  readonly #tickets: Tickets;
  readonly #calls: GateCalls;
  readonly #proofs: MediaProofs;

  constructor(options: PlaybackGateOptions) {
    this.#options = options;
    this.#directory = new RightsDirectory(options);
    this.#tokens = new PlaybackTokens(options.clock);
    this.#ownerTokens = new OwnerTokens(options.secret);
    this.#tickets = new Tickets(options.secret);
    this.#proofs = new MediaProofs(options.secret);
    this.#calls = new GateCalls({ ask: options.askReceiver, clock: options.clock });
  }

  /** The number of gate calls in progress. */
  get calls(): number {
    return this.#calls.count;
  }

  /**
   * Admits a request, or refuses it.
   * @param ticket the ticket in the address, or undefined for an address without one
   * @throws {MillraceError} `playback_unauthorized`, `origin_not_allowed`, `playback_check_failed`, `too_many_attempts`; `stream_offline`
   *   when the stream is deleted; `store_unavailable`
   */
  async admit(request: FastifyRequest, playbackId: PlaybackId, ticket?: string): Promise<PlaybackAdmission> {
    const stream = await this.#directory.stream(playbackId);
    if (stream === undefined) throw offline();
    const subject = { stream, playbackId, tokensFor: [playbackId], callsFor: playbackId };
    return await this.admitTo(request, subject, { ticket });
  }

  /**
   * Admits a request to what the caller has found, or refuses it.
   * @param from.ticket as in {@link admit}
   * @param from.address the address of the viewer, by default that of the sender. Wrong tokens and access keys count against its network
   * @throws {MillraceError} as {@link admit}
   */
  async admitTo(
    request: FastifyRequest,
    subject: PlaybackSubject,
    { ticket, address = request.ip }: { readonly ticket?: string | undefined; readonly address?: string } = {},
  ): Promise<PlaybackAdmission> {
    const { stream } = subject;
    const { playbackPolicy: policy } = stream;
    if (!isRestricted(policy)) return OPEN;
    if (!isAllowedOrigin(policy, pageOriginOf(request))) throw this.#refused(stream, 'origin_not_allowed');
    const ownerToken = this.#ownerTokenOf(request, { ...subject, ticket });
    if (ownerToken !== undefined) return await this.#admitOwner(ownerToken, { ...subject, policy, ticket, address });
    switch (policy.type) {
      case 'public':
        return { restricted: true, policy, ticket: undefined };
      case 'jwt':
        return await this.#admitByToken(request, { ...subject, policy, ticket, address });
      case 'webhook':
        return await this.#admitByWebhook(request, { ...subject, policy, ticket, address });
    }
  }

  /**
   * Admits a request with a valid owner token, or with a ticket for one, even where the policy needs neither. The answers pass the right
   * on in tickets and proofs, as under a policy, so that nobody else gets it. Returns undefined for any other request.
   * @throws {MillraceError} `store_unavailable`
   */
  async ownersAdmission(
    request: FastifyRequest,
    { stream, playbackId, tokensFor }: PlaybackSubject,
    ticket?: string,
  ): Promise<PlaybackAdmission | undefined> {
    const { playbackPolicy: policy = OWNERS_ONLY } = stream;
    const ownerToken = this.#ownerTokenOf(request, { playbackId, ticket });
    const claim = ownerToken === undefined ? undefined : this.#claimOf(tokensFor, ownerToken);
    if (ownerToken === undefined || claim === undefined || this.#options.clock.now() >= claim.expiresAt)
      return undefined;
    if (!(await this.#directory.isOwner(claim.credential, stream.userId))) return undefined;
    return { restricted: true, policy, ticket: () => this.#tickets.seal(playbackId, { ownerToken }) };
  }

  /** The policy of a stream whose media nobody gets without proofs. Undefined for a public stream. */
  async restriction(playbackId: PlaybackId): Promise<PlaybackPolicy | undefined> {
    const policy = (await this.#directory.stream(playbackId))?.playbackPolicy;
    return isRestricted(policy) ? policy : undefined;
  }

  /** The proof in the address of a segment, part or init segment. */
  proofOf(policy: PlaybackPolicy, mediaPath: MediaPath, name: string): string {
    return this.#proofs.of(policy, mediaPath, name);
  }

  /** Makes the same proofs for a playlist of a recording, which may be long. */
  proofsOfRecording(policy: PlaybackPolicy, mediaPath: MediaPath): (name: string) => string {
    return this.#proofs.ofRecording(policy, mediaPath);
  }

  /**
   * Whether an address of media could be learned from a playlist under the current policy. @param proof the proof in the address, or
   * undefined
   */
  async knowsMedia(
    playbackId: PlaybackId,
    media: { readonly mediaPath: MediaPath; readonly proof: string | undefined; readonly name: string },
  ): Promise<boolean> {
    return this.knowsMediaUnder(await this.restriction(playbackId), media);
  }

  /** The same under a policy that the caller has found. */
  knowsMediaUnder(
    policy: PlaybackPolicy | undefined,
    {
      mediaPath,
      proof,
      name,
    }: { readonly mediaPath: MediaPath; readonly proof: string | undefined; readonly name: string },
  ): boolean {
    if (proof === undefined) return !isRestricted(policy);
    // The owner of a public stream also gets URLs with proofs, for recordings that nobody else may watch yet.
    return this.#proofs.isRight(proof, policy ?? OWNERS_ONLY, mediaPath, name);
  }

  /** The owner token that a request shows, in its ticket or in place of a playback token. */
  #ownerTokenOf(request: FastifyRequest, asked: Ticketed): string | undefined {
    const contents = this.#contentsOf(asked);
    if (contents !== undefined) return 'ownerToken' in contents ? contents.ownerToken : undefined;
    const { token } = credentialsOf(request);
    return token !== undefined && isOwnerToken(token) ? token : undefined;
  }

  /** Admits the owner under every type of policy. Pages of other origins are refused before, as for viewers. */
  async #admitOwner(ownerToken: string, { stream, policy, playbackId, tokensFor }: Asked): Promise<PlaybackAdmission> {
    const claim = this.#claimOf(tokensFor, ownerToken);
    if (claim === undefined) throw this.#refused(stream, 'wrong_signature');
    if (this.#options.clock.now() >= claim.expiresAt) throw this.#refused(stream, 'expired');
    if (!(await this.#directory.isOwner(claim.credential, stream.userId))) throw this.#refused(stream, 'disabled_key');
    return { restricted: true, policy, ticket: () => this.#tickets.seal(playbackId, { ownerToken }) };
  }

  #claimOf(playbackIds: readonly PlaybackId[], token: string): OwnerClaim | undefined {
    return playbackIds.map((id) => this.#ownerTokens.read(id, token)).find((claim) => claim !== undefined);
  }

  async #admitByToken(request: FastifyRequest, asked: Asked): Promise<PlaybackAdmission> {
    const { stream, policy, playbackId, tokensFor, address } = asked;
    const keys = await this.#directory.keysOf(stream.userId);
    const contents = this.#contentsOf(asked);
    if (contents !== undefined && 'keyId' in contents) {
      const key = keys.find(({ id }) => id === contents.keyId);
      const fault =
        key === undefined
          ? 'unknown_key'
          : key.disabled
            ? 'disabled_key'
            : this.#options.clock.now() >= contents.expiresAtMs
              ? 'expired'
              : undefined;
      if (fault !== undefined) throw this.#refused(stream, fault);
      return { restricted: true, policy, ticket: () => this.#tickets.seal(playbackId, contents) };
    }
    const { token } = credentialsOf(request);
    if (token === undefined) throw this.#refused(stream, 'no_credentials');
    const judging = this.#tokens.judge(token, { playbackIds: tokensFor, keys, address });
    const verdict = await this.#noting(stream, judging);
    if (!verdict.good) throw this.#refused(stream, verdict.fault);
    const { keyId, expiresAtMs } = verdict;
    return { restricted: true, policy, ticket: () => this.#tickets.seal(playbackId, { keyId, expiresAtMs }) };
  }

  async #admitByWebhook(request: FastifyRequest, asked: Asked): Promise<PlaybackAdmission> {
    const { stream, policy, playbackId, callsFor, address } = asked;
    const contents = this.#contentsOf(asked);
    const accessKey =
      contents !== undefined && 'accessKey' in contents ? contents.accessKey : credentialsOf(request).accessKey;
    if (accessKey === undefined) throw this.#refused(stream, 'no_credentials');
    if (accessKey.length > MAX_ACCESS_KEY_LENGTH) throw this.#refused(stream, 'malformed');
    const asking = this.#calls.allows({ stream, playbackId: callsFor, policy, accessKey }, address);
    const isAllowed = await this.#noting(stream, asking);
    if (!isAllowed) throw this.#refused(stream, 'refused_by_webhook');
    return { restricted: true, policy, ticket: () => this.#tickets.seal(playbackId, { accessKey }) };
  }

  #contentsOf({ playbackId, ticket }: Ticketed): TicketContents | undefined {
    return ticket === undefined ? undefined : this.#tickets.open(playbackId, ticket);
  }

  /** Waits for a check, and notes the refusal when it ends with an error. */
  async #noting<Verdict>(stream: WatchedStream, check: Promise<Verdict>): Promise<Verdict> {
    try {
      return await check;
    } catch (error) {
      const reason = error instanceof MillraceError ? REASONS_OF_ERRORS[error.code] : undefined;
      if (reason !== undefined) this.#options.onRefused(stream, reason);
      throw error;
    }
  }

  #refused(stream: WatchedStream, reason: RefusalReason): MillraceError {
    this.#options.onRefused(stream, reason);
    const code = reason === 'origin_not_allowed' ? 'origin_not_allowed' : 'playback_unauthorized';
    return new MillraceError(code, SENTENCES[reason] ?? NO_RIGHT);
  }
}

/** A request for something with tickets. */
interface Ticketed extends Pick<PlaybackSubject, 'playbackId'> {
  readonly ticket: string | undefined;
}

/** A request for a stream with a policy. */
interface Asked extends PlaybackSubject, Ticketed {
  readonly policy: PlaybackPolicy;
  /** The address of the viewer. */
  readonly address: string;
}

function offline(): MillraceError {
  return new MillraceError('stream_offline', 'stream is offline: it was deleted.');
}
