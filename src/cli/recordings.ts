/**
 * `millrace recordings`: lists and deletes recordings, and compares the folder of recordings with the store, also while the server runs.
 */
import { join } from 'node:path';
import { configFromEnvironment } from '#config.ts';
import type { Asset } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import { type AssetId, isUuid, type StreamId } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { BucketSettingsError, openBucket } from '#objects/engines.ts';
import { ObjectStoreError } from '#objects/objects.ts';
import { nodeIdOf } from '#store/node-id.ts';
import type { Store } from '#store/store.ts';
import { readArguments } from './arguments.ts';
import { bucketOrphans } from './bucket-check.ts';
import { everyRow } from './every-row.ts';
import { EXIT, Exit, wrongUsage } from './exit-code.ts';
import { operatorReceipt } from './receipt.ts';
import { type CheckOptions, checkRecordings, type Finding } from './recordings-check.ts';
import { printTable, storeCommand } from './store-command.ts';

const COMMAND = 'millrace recordings';

/** The subcommand. */
export const recordings = storeCommand({
  name: 'recordings',
  summary: 'List, check and delete recordings',
  usage: `  millrace recordings list                    list every recording and clip
  millrace recordings check                   compare the recordings on the disk and in the bucket with the store, and rebuild lost indexes
                 [--delete]                   delete recordings that are not in the database: folders older than a day, and those in the bucket
                 [--adopt STREAM]             add recordings that are not in the database to the stream with this id
  millrace recordings rm ID ...               delete recordings and clips; a running server frees the space within minutes`,
  actions: {
    list: (args) => {
      readArguments(args, {}, COMMAND);
      return list;
    },
    check: (args) => {
      const { options, flags } = readArguments(args, { options: ['adopt'], flags: ['delete'] }, COMMAND);
      const { adopt } = options;
      if (adopt !== undefined && (flags.has('delete') || !isUuid(adopt))) {
        throw wrongUsage('--adopt must be the id of a stream, and cannot be used with --delete.', COMMAND);
      }
      return (store) => check(store, { isDeleting: flags.has('delete'), adopter: adopt as StreamId | undefined });
    },
    rm: (args) => {
      const { positionals } = readArguments(args, { positionals: 1, moreMayFollow: true }, COMMAND);
      return (store) => remove(store, positionals);
    },
  },
});

async function list(store: Store): Promise<void> {
  const newestFirst = { order: 'createdAt', direction: 'desc', filter: {} } as const;
  const assets = everyRow((page) => store.assets.list('everyone', { ...page, ...newestFirst }));
  const rows = await Array.fromAsync(assets, rowOf);
  printTable(['ID', 'KIND', 'NAME', 'CREATED', 'SECONDS', 'MB', 'STATE', 'FOLDER'], rows);
}

function rowOf({ id, kind, name, createdAt, durationS, sizeBytes, phase, path }: Asset): string[] {
  const isClip = kind === 'clip';
  return [
    id,
    kind,
    printable(name),
    new Date(createdAt).toISOString(),
    durationS.toFixed(1),
    isClip ? '-' : (sizeBytes / 1e6).toFixed(1),
    phase,
    isClip ? '-' : path,
  ];
}

/** A name without characters that could control the terminal. */
const printable = (name: string): string => name.replaceAll(/\p{C}/gu, '?').slice(0, 40);

const MEANINGS: Readonly<Record<Finding['result'], string>> = {
  ok: 'complete',
  running: 'is being recorded, or the server will continue it; not checked',
  deleted: 'was deleted; the server removes what no clip shows',
  rebuilt: 'its index was lost or incomplete, and was rebuilt from its volumes',
  unreadable: 'volumes are missing or damaged; the parts that its index lists can still be watched',
  missing: 'the store has it, but its folder is gone; delete it with millrace recordings rm',
  orphan: 'the store does not have it; see --delete and --adopt',
  removed: 'the store did not have it; deleted',
  adopted: 'the store did not have it; added to the stream',
};

async function check(
  store: Store,
  { isDeleting, adopter }: { readonly isDeleting: boolean; readonly adopter: StreamId | undefined },
): Promise<void> {
  const config = configFromEnvironment();
  const { dataDir } = config.store;
  const stream = adopter === undefined ? undefined : await store.streams.get(adopter, 'everyone');
  if (adopter !== undefined && stream === undefined) {
    throw new Exit(EXIT.failed, ['There is no stream with this id; see GET /stream.']);
  }
  const options: CheckOptions = {
    store,
    folder: config.recording.dir ?? join(dataDir, 'recordings'),
    hasBucket: config.objects.s3Url !== undefined,
    nodeId: nodeIdOf(dataDir),
    now: systemClock.now(),
    orphans: stream ?? (isDeleting ? 'delete' : 'keep'),
  };
  const counts = new Map<Finding['result'], number>();
  const note = ({ path, asset, result }: Finding, where = ''): void => {
    counts.set(result, (counts.get(result) ?? 0) + 1);
    const id = asset === undefined ? '' : ` (${asset.id})`;
    if (result !== 'ok') console.log(`${path}${id}${where}: ${MEANINGS[result]}.`);
  };
  for await (const finding of checkRecordings(options)) note(finding);
  const sum = [...counts.values()].reduce((all, count) => all + count, 0);
  console.log(`Checked ${sum} recordings in ${options.folder}; ${counts.get('ok') ?? 0} are complete.`);
  try {
    await using bucket = await openBucket(config.objects, systemClock);
    if (bucket !== undefined) {
      for await (const finding of bucketOrphans({ ...options, bucket })) note(finding, ' in the bucket');
    }
  } catch (error) {
    if (!(error instanceof ObjectStoreError || error instanceof BucketSettingsError)) throw error;
    throw new Exit(EXIT.failed, [`The bucket could not be checked: ${error.message}`], { cause: error });
  }
  if (counts.has('missing') || counts.has('unreadable')) throw new Exit(EXIT.failed, []);
}

async function remove(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const receipt = operatorReceipt(systemClock.now(), { action: 'asset.deleted', resourceId: id });
    const isDeleted = isUuid(id) && (await deleted(store, id as AssetId, receipt));
    if (!isDeleted) throw new Exit(EXIT.failed, ['There is no such recording or clip; see millrace recordings list.']);
    console.log(`Deleted ${id}.`);
  }
}

async function deleted(store: Store, id: AssetId, receipt: ReturnType<typeof operatorReceipt>): Promise<boolean> {
  try {
    return await store.assets.delete(id, 'everyone', receipt);
  } catch (error) {
    if (!(error instanceof MillraceError && error.code === 'conflict')) throw error;
    throw new Exit(EXIT.failed, [`The recording ${id} is still running; end its session first.`], { cause: error });
  }
}
