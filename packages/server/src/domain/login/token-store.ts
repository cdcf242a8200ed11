import type { Int64 } from '@hermod/protocol'
import {
  camelCase,
  camelCaseText,
  columnsOf,
  convert,
  snakeCase,
  type TableRow,
} from '../../db/columns.js'
import type { Database, Queryable, Tx } from '../../db/database.js'
import type { BulkSelect, BulkUpdate } from '../../db/dialect/dialect.js'
import { sql } from '../../db/kysely.js'
import { rowOf } from '../../db/rows.js'
import { userTokensTable } from '../../db/schema.js'
import { paddedForPlanCache } from '../../lib/chunks.js'
import type { Invalidates } from '../../lib/invalidated-cache.js'
import type { DeviceKey } from '../devices/device-model.js'
import type { UserKey } from '../users/user-model.js'

/** A token by its hash. */
export interface TokenKey {
  readonly appId: string
  readonly tokenHash: string
}

/** A token of a user; times in ms. */
export interface UserToken extends TokenKey {
  readonly userId: Int64
  readonly deviceSn: number | null
  readonly expiresAt: number
  readonly isRevoked: boolean
}

/** A token, and its user as far as calls are limited by it. */
export interface CallerToken extends UserToken {
  readonly isBot: boolean
}

type TokenRow = TableRow<typeof userTokensTable>
type CallerRow = TokenRow & { readonly isBot: number }

const tokenKey = columnsOf(userTokensTable, 'app_id', 'token_hash')
const tokenKeyRow = rowOf(tokenKey)
const lockTokens: BulkSelect = {
  table: 'user_tokens',
  keys: tokenKey,
  columns: camelCaseText(userTokensTable, 't'),
  lock: 'for no key update',
}
const setDevices: BulkUpdate = {
  table: 'user_tokens',
  set: columnsOf(userTokensTable, 'device_sn'),
  keys: tokenKey,
}

/** Tokens that are revoked at once; one login makes one too many. */
const maxEnded = 100

/**
 * Tokens of users, as hashes. Ended tokens stay for a while, so that their holders can be answered
 * why.
 */
export class TokenStore {
  readonly #find
  readonly #count

  constructor(
    private readonly database: Database,
    private readonly cache: Invalidates<TokenKey>,
  ) {
    this.#find = database.prepared<{ appId: string; tokenHash: string }, CallerRow>((db, param) =>
      db
        .selectFrom('user_tokens as t')
        .innerJoin('users as u', (join) =>
          join.onRef('u.app_id', '=', 't.app_id').onRef('u.user_id', '=', 't.user_id'),
        )
        .select(camelCase(userTokensTable, 't'))
        .select('u.is_bot as isBot')
        .where('t.app_id', '=', param('appId'))
        .where('t.token_hash', '=', param('tokenHash')),
    )
    this.#count = database.prepared<UserKey, { count: number | bigint }>((db, param) =>
      db
        .selectFrom('user_tokens')
        .select(({ fn }) => fn.countAll<number | bigint>().as('count'))
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId')),
    )
  }

  async find(db: Queryable, appId: string, tokenHash: string): Promise<CallerToken | null> {
    const row = await this.#find.first(db, { appId, tokenHash })
    return row ? { ...toToken(row), isBot: row.isBot === 1 } : null
  }

  /** Finds tokens and prevents their change until the transaction ends. @returns those that exist */
  async lockNoKeyUpdate(tx: Tx, keys: readonly TokenKey[]): Promise<UserToken[]> {
    const rows = await this.database.bulk<TokenRow>(tx, lockTokens, keys.map(tokenKeyRow))
    return rows.map(toToken)
  }

  async setDevices(
    tx: Tx,
    tokens: readonly (TokenKey & { readonly deviceSn: number })[],
  ): Promise<void> {
    const rows = tokens.map(({ deviceSn, ...key }) => [deviceSn, ...tokenKeyRow(key)])
    await this.database.bulk(tx, setDevices, rows)
    for (const { appId, tokenHash } of tokens) this.cache.forget(tx, { appId, tokenHash })
  }

  /** The number of tokens of a user, ended ones included. */
  async count(db: Queryable, user: UserKey): Promise<number> {
    const row = await this.#count.first(db, user)
    return Number(row?.count ?? 0)
  }

  async insert(tx: Tx, token: TokenRow): Promise<void> {
    await tx.insertInto('user_tokens').values(snakeCase(userTokensTable, token)).execute()
  }

  async revokeOfUsers(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
    { revokedAt, keep }: { readonly revokedAt: number; readonly keep: string | null },
  ): Promise<void> {
    const rows = await tx
      .updateTable('user_tokens')
      .set({ revoked_at: revokedAt })
      .where('app_id', '=', appId)
      .where('user_id', 'in', paddedForPlanCache(userIds))
      .where('revoked_at', 'is', null)
      .$if(keep !== null, (query) => query.where('token_hash', '<>', keep ?? ''))
      .returning('token_hash')
      .execute()
    this.#forget(tx, appId, rows)
  }

  /** Ends tokens of any users of an application, at most `limit` at a time. @returns their number */
  async revokeSome(tx: Tx, appId: string, revokedAt: number, limit: number): Promise<number> {
    const some = tx
      .selectFrom('user_tokens')
      .select(['app_id', 'token_hash'])
      .where('app_id', '=', appId)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', revokedAt)
      .limit(limit)
    return this.#revoke(tx, appId, some, revokedAt)
  }

  /** Counts the tokens of all applications that are valid at a time. */
  async countValid(db: Queryable, now: number): Promise<number> {
    const { count } = await db
      .selectFrom('user_tokens')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  /** @param which.onlyIssued leaves the tokens of logins */
  async revokeOfDevice(
    tx: Tx,
    { appId, userId, deviceSn }: DeviceKey,
    which: { readonly revokedAt: number; readonly onlyIssued: boolean },
  ): Promise<void> {
    const { revokedAt, onlyIssued } = which
    const rows = await tx
      .updateTable('user_tokens')
      .set({ revoked_at: revokedAt })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .where('revoked_at', 'is', null)
      .$if(onlyIssued, (query) => query.where('issued', '=', 1))
      .returning('token_hash')
      .execute()
    this.#forget(tx, appId, rows)
  }

  /** Ends the tokens of a user that have no device, except the newest ones. */
  async revokeOldest(
    tx: Tx,
    { appId, userId }: UserKey,
    { keep, revokedAt }: { readonly keep: number; readonly revokedAt: number },
  ): Promise<void> {
    const oldest = keysNewestFirst(tx, appId, userId)
      .where('device_sn', 'is', null)
      .where('revoked_at', 'is', null)
      .limit(maxEnded)
      .offset(keep)
    await this.#revoke(tx, appId, oldest, revokedAt)
  }

  /** Deletes the tokens of a user except the newest ones, at most `limit` at a time. */
  async deleteOldest(
    tx: Tx,
    { appId, userId }: UserKey,
    { keep, limit }: { readonly keep: number; readonly limit: number },
  ): Promise<void> {
    const oldest = keysNewestFirst(tx, appId, userId).limit(limit).offset(keep)
    const rows = await tx
      .deleteFrom('user_tokens')
      .where(isAmong(oldest))
      .returning('token_hash')
      .execute()
    this.#forget(tx, appId, rows)
  }

  /** Deletes at most `limit` tokens that expired before the instant; @returns their number */
  async deleteExpired(tx: Tx, before: number, limit: number): Promise<number> {
    const expired = tx
      .selectFrom('user_tokens')
      .select(['app_id', 'token_hash'])
      .where('expires_at', '<', before)
      .orderBy('expires_at')
      .limit(limit)
    const { numDeletedRows } = await tx
      .deleteFrom('user_tokens')
      .where(isAmong(expired))
      .executeTakeFirst()
    return Number(numDeletedRows)
  }

  /** Ends the tokens of a query of keys. @returns their number */
  async #revoke(
    tx: Tx,
    appId: string,
    keys: ReturnType<typeof keysNewestFirst>,
    revokedAt: number,
  ): Promise<number> {
    const rows = await tx
      .updateTable('user_tokens')
      .set({ revoked_at: revokedAt })
      .where(isAmong(keys))
      .returning('token_hash')
      .execute()
    this.#forget(tx, appId, rows)
    return rows.length
  }

  #forget(tx: Tx, appId: string, rows: readonly { readonly token_hash: string }[]): void {
    for (const { token_hash: tokenHash } of rows) this.cache.forget(tx, { appId, tokenHash })
  }
}

function toToken(row: TokenRow): UserToken {
  return convert(row, { isRevoked: row.revokedAt !== null })
}

/**
 * By the whole key: PostgreSQL would compare each token with each in an app that its statistics do
 * not have yet.
 */
function isAmong(keys: ReturnType<typeof keysNewestFirst>) {
  return sql<boolean>`(app_id, token_hash) in ${keys}`
}

function keysNewestFirst(tx: Tx, appId: string, userId: Int64) {
  return tx
    .selectFrom('user_tokens')
    .select(['app_id', 'token_hash'])
    .where('app_id', '=', appId)
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('token_hash', 'desc')
}
