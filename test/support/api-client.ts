/**
 * A typed client of the API, like that of a customer's program.
 */
import assert from 'node:assert/strict';
import type { Static } from 'typebox';
import type { HealthSchema } from '#api/schemas/health.ts';
import { waitFor } from './wait-for.ts';

/** A profile as it goes over the wire. */
export interface ProfileObject {
  readonly name: string;
  readonly bitrate: number;
  readonly fps: number;
  readonly width: number;
  readonly height: number;
}

/** A stream or session in the API, with the fields that tests use. */
export interface StreamObject {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly userId: string;
  readonly createdAt: number;
  /** Present on streams, absent on sessions. */
  readonly streamKey?: string;
  readonly playbackId: string;
  readonly createdByTokenName: string;
  readonly profiles: readonly ProfileObject[];
  /** The id of the stream, on sessions only. */
  readonly parentId?: string;
  readonly isActive: boolean;
  readonly lastSeen: number;
  /** Present while media is received. */
  readonly ingestRate?: number;
  readonly outgoingRate?: number;
  readonly health?: Static<typeof HealthSchema>;
}

/** A stream that has just been created, always with its stream key. */
export type CreatedStream = StreamObject & { readonly streamKey: string };

/** Sends requests to one server with one API key. */
export class ApiClient {
  readonly #base: string;
  readonly #apiKey: string;

  /** @param base `http://host:port/api` */
  constructor(base: string, apiKey: string) {
    this.#base = base;
    this.#apiKey = apiKey;
  }

  /** Sends any request and returns the answer, whatever it is. A body is sent as JSON. */
  request(method: string, path: string, body?: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#apiKey}`, 'content-type': 'application/json' };
    if (body === undefined)
      return fetch(this.#base + path, { method, headers: { authorization: headers.authorization } });
    return fetch(this.#base + path, { method, headers, body: JSON.stringify(body) });
  }

  /** Creates a stream, by default without renditions. Fails the test when it is not created. */
  async createStream(body: object = {}): Promise<CreatedStream> {
    const response = await this.#answered('POST', '/stream', { name: 'test', profiles: [], ...body });
    assert.equal(response.status, 201, await response.clone().text());
    return (await response.json()) as CreatedStream;
  }

  /** Reads a stream or session. Fails the test when it does not exist. */
  async getStream(id: string): Promise<StreamObject> {
    const response = await this.#answered('GET', `/stream/${id}`);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as StreamObject;
  }

  /**
   * Sends a request, and repeats it while the server cannot reach the store, which a busy machine may hold up. Such a request has changed
   * nothing.
   */
  #answered(method: string, path: string, body?: unknown): Promise<Response> {
    const attempt = async () => {
      const response = await this.request(method, path, body);
      const isAway = response.status === 503 && /"store_unavailable"/.test(await response.clone().text());
      return !isAway && response;
    };
    return waitFor(attempt, { what: `the store to answer ${method} ${path}` });
  }
}
