/**
 * The memory for media, shared fairly among the users of all sessions.
 */
import type { MediaMemory, MemoryAccount, MemoryHolder, MemoryUser } from './hls.ts';
import { furthestAboveShare, shareOf, type UserMemory } from './memory-shares.ts';

/** The part of the memory, or of a user's quota, above which a new session gets no memory. */
const FULL_AT = 0.9;

/** Makes a memory of `limitBytes`, all of it free. */
export function createMediaMemory(limitBytes: number): MediaMemory {
  return new SharedMemory(limitBytes);
}

/** The open accounts of one user. */
interface UserAccounts {
  readonly user: MemoryUser;
  readonly accounts: Set<Account>;
}

interface Account {
  readonly user: MemoryUser;
  readonly holder: MemoryHolder;
  usedBytes: number;
}

class SharedMemory implements MediaMemory {
  readonly limitBytes: number;
  #usedBytes = 0;
  readonly #users = new Map<string, UserAccounts>();

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  usedBy(userId: string): number {
    const known = this.#users.get(userId);
    return known === undefined ? 0 : usedBy(known);
  }

  open(user: MemoryUser, holder: MemoryHolder): MemoryAccount {
    const account: Account = { user, holder, usedBytes: 0 };
    const known = this.#users.get(user.id);
    if (known === undefined) this.#users.set(user.id, { user, accounts: new Set([account]) });
    else known.accounts.add(account);
    return {
      get usedBytes() {
        return account.usedBytes;
      },
      take: (sizeBytes) => this.#take(account, sizeBytes),
      give: (sizeBytes) => this.#give(account, sizeBytes),
      [Symbol.dispose]: () => this.#close(account),
    };
  }

  hasRoomFor(user: MemoryUser): boolean {
    const known = this.#users.get(user.id);
    const usedBytes = this.usedBy(user.id);
    if (usedBytes > Math.min(user.quotaBytes, this.limitBytes) * FULL_AT) return false;
    if (this.#usedBytes <= this.limitBytes * FULL_AT) return true;
    const users = this.#users.size + (known === undefined ? 1 : 0);
    return usedBytes < shareOf(user.quotaBytes, { limitBytes: this.limitBytes, users });
  }

  #take(account: Account, sizeBytes: number): boolean {
    if (!this.#isOpen(account)) return false;
    for (;;) {
      const payer = this.#payerFor(account, sizeBytes);
      if (payer === undefined) break;
      if (payer.holder.giveBackRetired()) continue;
      if (payer === account) return false;
      payer.holder.giveUp();
      this.#close(payer); // frees what it still holds
    }
    account.usedBytes += sizeBytes;
    this.#usedBytes += sizeBytes;
    return true;
  }

  #give(account: Account, sizeBytes: number): void {
    if (!this.#isOpen(account)) return; // everything was freed when the account was closed
    account.usedBytes -= sizeBytes;
    this.#usedBytes -= sizeBytes;
  }

  #close(account: Account): void {
    if (!this.#isOpen(account)) return;
    this.#give(account, account.usedBytes);
    const { accounts } = this.#users.get(account.user.id)!;
    accounts.delete(account);
    if (accounts.size === 0) this.#users.delete(account.user.id);
  }

  #isOpen(account: Account): boolean {
    return this.#users.get(account.user.id)?.accounts.has(account) ?? false;
  }

  /** The account that must free memory before `taker` can take `sizeBytes` more. Undefined when there is enough. */
  #payerFor(taker: Account, sizeBytes: number): Account | undefined {
    const own = this.#users.get(taker.user.id)!;
    const isWithinQuota = usedBy(own) + sizeBytes <= own.user.quotaBytes;
    if (isWithinQuota && this.#usedBytes + sizeBytes <= this.limitBytes) return undefined;
    // The bytes are counted as if they had been taken already, so that an account which asks for too much must free memory itself.
    const bytesOf = (account: Account) => account.usedBytes + (account === taker ? sizeBytes : 0);
    if (!isWithinQuota) return largest(own.accounts, bytesOf);
    const users = Array.from(this.#users.values(), (each): UserMemory & UserAccounts => ({
      ...each,
      usedBytes: usedBy(each) + (each === own ? sizeBytes : 0),
      quotaBytes: each.user.quotaBytes,
    }));
    return largest((furthestAboveShare(users, this.limitBytes) ?? own).accounts, bytesOf);
  }
}

function usedBy({ accounts }: UserAccounts): number {
  let usedBytes = 0;
  for (const account of accounts) usedBytes += account.usedBytes;
  return usedBytes;
}

/** The account with the most bytes. Undefined without accounts. */
function largest(accounts: Iterable<Account>, bytesOf: (account: Account) => number): Account | undefined {
  let found: Account | undefined;
  for (const account of accounts) if (found === undefined || bytesOf(account) > bytesOf(found)) found = account;
  return found;
}
