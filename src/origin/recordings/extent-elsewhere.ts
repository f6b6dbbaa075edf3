/**
 * Asks the node that writes a recording how much there is of it by now (`extent-route.ts`). The store learns it only every half a minute,
 * which is too late for a clip of what was live just now.
 */
import type { Asset, AssetExtent } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import type { NodeId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import { originOf } from '#lib/origin-of.ts';
import { PeerClient } from '#origin/peer-client.ts';
import { ViewerNames } from '#origin/viewer.ts';
import type { Store } from '#store/store.ts';
import { extentPath } from './extent-route.ts';

/** The most connections to one node. */
const MAX_CONNECTIONS = 32;
/** How long the other node may take. A request of a customer waits for it. */
const TIMEOUT_MS = 3000;

/** Asks other nodes. */
export class ExtentElsewhere implements AsyncDisposable {
  readonly #assets: Pick<Store['assets'], 'byPath'>;
  readonly #nodeId: NodeId;
  readonly #names: ViewerNames;
  readonly #client = new PeerClient({ maxConnections: MAX_CONNECTIONS, longestHoldMs: TIMEOUT_MS });

  /**
   * @param nodeId the id of this node
   * @param secret the secret of all nodes
   */
  constructor(assets: Pick<Store['assets'], 'byPath'>, nodeId: NodeId, secret: Secret) {
    this.#assets = assets;
    this.#nodeId = nodeId;
    this.#names = new ViewerNames(secret);
  }

  /** The extent of a recording. Undefined when no other node writes it, and when that node gives no answer. */
  async of({ phase, nodeId, path }: Asset): Promise<AssetExtent | undefined> {
    if (phase !== 'recording' || nodeId === this.#nodeId) return undefined;
    const node = (await this.#assets.byPath(path))?.node;
    const origin = node && originOf(node.url);
    if (origin === undefined) return undefined;
    try {
      const { status, pieces } = await this.#client.get(origin, extentPath(path), {
        headers: this.#names.header(path, []),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return status === 200 ? (JSON.parse(Buffer.concat(pieces).toString()) as AssetExtent) : undefined;
    } catch (error) {
      if (error instanceof MillraceError) return undefined;
      throw error;
    }
  }

  /** Aborts every request in progress. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#client[Symbol.asyncDispose]();
  }
}
