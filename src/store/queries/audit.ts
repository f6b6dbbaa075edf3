/**
 * Queries on the audit log.
 */
import type { Kysely } from 'kysely';
import type { AuditEntry } from '#domain/audit.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { AuditTable, Database } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import { alsoIs, type Condition, is, newestFirst, type PageArgs } from './lists.ts';

/** The filter and range of a page of entries. Absent fields do not filter. */
export type AuditListArgs = { readonly user_id?: string; readonly resource_id?: string } & PageArgs;

/** Prepares the queries for one dialect. */
export function auditQueries(db: Kysely<Database>) {
  return {
    add: prepare((row: AuditTable) => db.insertInto('audit').values(row)),

    page: prepare((args: AuditListArgs) => {
      const conditions: Condition[] = [];
      if ('resource_id' in args) conditions.push(is('resource_id', args.resource_id));
      // A resource has few entries, so the condition on the user needs no index then.
      if ('user_id' in args) conditions.push(('resource_id' in args ? alsoIs : is)('user_id', args.user_id));
      return newestFirst<AuditTable>(db, 'audit', conditions, args, { time: 'at' });
    }),

    deleteOlder: prepare((args: { before: Milliseconds; limit: number }) =>
      db.deleteFrom('audit').where(
        (eb) => eb.refTuple('at', 'id'),
        'in',
        (eb) =>
          eb
            .selectFrom('audit')
            .select(['at', 'id'])
            .where('at', '<', args.before)
            .orderBy('at')
            .orderBy('id')
            .limit(args.limit)
            .$asTuple('at', 'id'),
      ),
    ),
  };
}

/** Makes the row of an entry. */
export function rowOfAudit({ actor, ...entry }: AuditEntry): AuditTable {
  return {
    id: entry.id,
    at: entry.at,
    user_id: actor?.userId ?? null,
    key_id: actor?.keyId ?? null,
    key_name: actor?.keyName ?? null,
    action: entry.action,
    resource_id: entry.resourceId,
    fields: JSON.stringify(entry.fields),
    remote_address: entry.remoteAddress ?? null,
    request_id: entry.requestId ?? null,
  };
}

/** Makes the entry from a row. */
export function auditOfRow(row: AuditTable): AuditEntry {
  const { user_id: userId, key_id: keyId, key_name: keyName } = row;
  return {
    id: row.id,
    at: row.at,
    actor: userId === null || keyId === null || keyName === null ? undefined : { userId, keyId, keyName },
    action: row.action,
    resourceId: row.resource_id,
    fields: JSON.parse(row.fields) as string[],
    remoteAddress: row.remote_address ?? undefined,
    requestId: row.request_id ?? undefined,
  };
}
