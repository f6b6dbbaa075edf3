/**
 * Finds the asset that a request names, among those that the caller may see.
 */
import type { Asset } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import { type AssetId, isUuid } from '#domain/ids.ts';
import type { Scope } from '#store/page.ts';
import type { RouteContext } from './api.ts';

/**
 * Finds an asset by its id within a scope.
 * @throws {MillraceError} `not_found`
 */
export async function findAsset({ store }: Pick<RouteContext, 'store'>, id: string, scope: Scope): Promise<Asset> {
  const asset = isUuid(id) ? await store.assets.get(id as AssetId, scope) : undefined;
  if (asset) return asset;
  throw unknownAsset();
}

/** Makes the error for an id that no asset of the caller has. */
export const unknownAsset = (): MillraceError =>
  new MillraceError('not_found', 'You have no recording or clip with this id; list yours with GET /asset.');
