/**
 * The store's browser sessions and sign-in links.
 */
import { type BrowserSession, MAX_SESSIONS, SESSION_IDLE_MS, SESSION_LIFE_MS } from '#domain/browser-session.ts';
import { ms } from '#lib/units.ts';
import type { Engine } from '#store/engine.ts';
import { changingOne } from '#store/prepared-query.ts';
import {
  browserSessionOfRow,
  browserSessionQueries,
  linkOfRow,
  openSessionOfRow,
  rowOfBrowserSession,
  rowOfLink,
} from '#store/queries/browser-sessions.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';

/** Makes the store's browser sessions. */
export function browserSessionRecords(runner: Runner, { compiler }: Engine): Store['browserSessions'] {
  const sessions = browserSessionQueries(compiler);
  const creating = (session: BrowserSession) => [
    sessions.endOldest({
      user_id: session.userId,
      ...(session.keyId !== undefined && { key_id: session.keyId }),
      kept: MAX_SESSIONS - 1,
    }),
    sessions.create(rowOfBrowserSession(session)),
  ];
  return {
    async create(session, receipt) {
      await runner.change(creating(session), [receipt]);
    },

    byHash: (secretHash, address) =>
      runner.strangersOne(sessions.byHash({ secret_hash: secretHash }), openSessionOfRow, address),
    byId: (id) => runner.cachedOne(sessions.byId({ id }), openSessionOfRow),

    ofUser: (user, page) =>
      runner.newestFirst(page, (args) => sessions.pageOfUser({ user_id: user, ...args }), browserSessionOfRow),

    async seen(id, at, address) {
      await runner.write([sessions.seen({ id, last_seen: at, address })]);
    },

    end: (id, scope, receipt) => runner.change([changingOne(sessions.end({ id, ...ofScope(scope) }))], [receipt]),

    deleteOver: (now) =>
      runner.changed(
        sessions.deleteOver({ idle_since: ms(now - SESSION_IDLE_MS), begun_by: ms(now - SESSION_LIFE_MS) }),
      ),

    async putLink(link, receipt) {
      await runner.change([sessions.putLink(rowOfLink(link))], [receipt]);
    },

    link: (secretHash, address) => runner.strangersOne(sessions.link({ secret_hash: secretHash }), linkOfRow, address),

    useLink: (link, session, receipt) =>
      runner.change(
        [changingOne(sessions.useLink({ secret_hash: link.secretHash, now: session.createdAt })), ...creating(session)],
        [receipt],
      ),
  };
}
