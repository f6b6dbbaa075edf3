/**
 * A typed client of the HTTP interface, as a customer's program would have one.
 */
import assert from 'node:assert/strict';
import type { Static } from 'typebox';
import type { HealthSchema } from '#api/schemas/health.ts';

/** A profile as it goes over the wire. */
export interface ProfileObject {
  readonly name: string;
  readonly bitrate: number;
  readonly fps: number;
  readonly width: number;
  readonly height: number;
}

/** A stream or session as the interface gives it; further keys are there too. */
export interface StreamObject {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly userId: string;
  readonly createdAt: number;
  /** Streams have one, sessions do not. */
  readonly streamKey?: string;
  readonly playbackId: string;
  readonly createdByTokenName: string;
  readonly profiles: readonly ProfileObject[];
  /** Sessions have one: their stream's id. */
  readonly parentId?: string;
  readonly isActive: boolean;
  readonly lastSeen: number;
  /** While media comes in. */
  readonly ingestRate?: number;
  readonly outgoingRate?: number;
  readonly health?: Static<typeof HealthSchema>;
}

/** A stream just created: it always has its key. */
export type CreatedStream = StreamObject & { readonly streamKey: string };

/** Talks to one server with one key. */
export class ApiClient {
  readonly #base: string;
  readonly #apiKey: string;

  /** @param base `http://host:port/api` */
  constructor(base: string, apiKey: string) {
    this.#base = base;
    this.#apiKey = apiKey;
  }

  /** Any request, whatever comes of it; a body is sent as JSON. */
  request(method: string, path: string, body?: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#apiKey}`, 'content-type': 'application/json' };
    if (body === undefined)
      return fetch(this.#base + path, { method, headers: { authorization: headers.authorization } });
    return fetch(this.#base + path, { method, headers, body: JSON.stringify(body) });
  }

  /** Creates a stream without renditions, unless asked for some. Fails the test when it is not created. */
  async createStream(body: object = {}): Promise<CreatedStream> {
    const response = await this.request('POST', '/stream', { name: 'test', profiles: [], ...body });
    assert.equal(response.status, 201, await response.clone().text());
    return (await response.json()) as CreatedStream;
  }

  /** Reads a stream or session. Fails the test when it is not there. */
  async getStream(id: string): Promise<StreamObject> {
    const response = await this.request('GET', `/stream/${id}`);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as StreamObject;
  }
}
