import { appStatus, type Int64, type Scopes } from '@hermod/protocol'
import { camelCase, convert, snakeCase, type TableRow } from '../../db/columns.js'
import type { Queryable, Tx } from '../../db/database.js'
import { type Insertable, sql, type Updateable } from '../../db/kysely.js'
import { lockForUpdate } from '../../db/locking.js'
import { adminTokensTable, appsTable, type Schema } from '../../db/schema.js'
import { paddedForPlanCache } from '../../lib/chunks.js'
import type { Invalidates } from '../../lib/invalidated-cache.js'
import { type App, parseSettings, type StoredAdminToken } from './app-model.js'

const columns = camelCase(appsTable)
const { token_hash: _, ...adminTokenColumns } = adminTokensTable

type EndedKind = 'disabled' | 'expired' | 'revoked' | 'limited'

/** Apps, their Admin tokens, and the operator's tokens. Tokens are stored as hashes only. */
export class AppStore {
  constructor(
    private readonly caches: {
      readonly apps: Invalidates<string>
      readonly adminTokens: Invalidates<string>
    },
  ) {}

  async find(db: Queryable, appId: string): Promise<App | null> {
    const row = await db
      .selectFrom('apps')
      .select(columns)
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row ? toApp(row) : null
  }

  /** Blocks other changes and locks of the app until the transaction ends. */
  async lockForUpdate(tx: Tx, appId: string): Promise<App | null> {
    const found = tx.selectFrom('apps').select(columns).where('app_id', '=', appId)
    const row = await lockForUpdate(tx, found).executeTakeFirst()
    return row ? toApp(row) : null
  }

  /** Lists by app_id. */
  async list(db: Queryable): Promise<App[]> {
    const rows = await db.selectFrom('apps').select(columns).orderBy('app_id').execute()
    return rows.map(toApp)
  }

  async count(db: Queryable): Promise<number> {
    const { count } = await db
      .selectFrom('apps')
      .select(db.fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  /** @returns false when the app_id is taken */
  async insert(tx: Tx, row: Insertable<Schema['apps']>): Promise<boolean> {
    const inserted = await tx
      .insertInto('apps')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('app_id')
      .executeTakeFirst()
    return inserted !== undefined
  }

  async update(tx: Tx, appId: string, changes: Updateable<Schema['apps']>): Promise<void> {
    this.caches.apps.forget(tx, appId)
    await tx.updateTable('apps').set(changes).where('app_id', '=', appId).execute()
  }

  async findAdminToken(db: Queryable, tokenHash: string): Promise<StoredAdminToken | null> {
    const row = await db
      .selectFrom('admin_tokens')
      .select(camelCase(adminTokenColumns))
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst()
    return row ? toAdminToken(row) : null
  }

  /**
   * Lists those of the apps that are disabled, and of the Admin tokens that have ended by a time or
   * have a list of scopes.
   */
  async listEnded(
    db: Queryable,
    of: {
      readonly appIds: readonly string[]
      readonly tokenHashes: readonly string[]
      readonly at: number
    },
  ): Promise<{ readonly kind: EndedKind; readonly id: string; readonly scopes: Scopes }[]> {
    const rows = await db
      .selectFrom('apps')
      .select([
        sql<EndedKind>`'disabled'`.as('kind'),
        'app_id as id',
        sql<string | null>`null`.as('scopes'),
      ])
      .where('app_id', 'in', paddedForPlanCache(['', ...of.appIds]))
      .where('status', '<>', appStatus.normal)
      .unionAll(
        db
          .selectFrom('admin_tokens')
          .select([
            sql<EndedKind>`case when revoked_at is not null then 'revoked' when expires_at <= ${of.at} then 'expired' else 'limited' end`.as(
              'kind',
            ),
            'token_hash as id',
            'scopes',
          ])
          .where('token_hash', 'in', paddedForPlanCache(['', ...of.tokenHashes]))
          .where((is) =>
            is.or([
              is('revoked_at', 'is not', null),
              is('expires_at', '<=', of.at),
              is('scopes', 'is not', null),
            ]),
          ),
      )
      .execute()
    return rows.map(({ scopes, ...row }) => ({ ...row, scopes: toScopes(scopes) }))
  }

  /** Oldest first. */
  async listAdminTokens(db: Queryable, appId: string): Promise<StoredAdminToken[]> {
    const rows = await db
      .selectFrom('admin_tokens')
      .select(camelCase(adminTokenColumns))
      .where('app_id', '=', appId)
      .orderBy('token_id')
      .execute()
    return rows.map(toAdminToken)
  }

  /** An existing token stays as it is, whatever its name. */
  async insertAdminToken(tx: Tx, token: StoredAdminToken, tokenHash: string): Promise<void> {
    await tx
      .insertInto('admin_tokens')
      .values(
        snakeCase(adminTokensTable, { ...token, tokenHash, scopes: scopesText(token.scopes) }),
      )
      .onConflict((conflict) => conflict.column('token_hash').doNothing())
      .execute()
  }

  /** @returns false when the app has no such token */
  async revokeAdminToken(
    tx: Tx,
    appId: string,
    tokenId: Int64,
    revokedAt: number,
  ): Promise<boolean> {
    const row = await tx
      .updateTable('admin_tokens')
      .set((eb) => ({ revoked_at: eb.fn.coalesce('revoked_at', eb.val(revokedAt)) }))
      .where('app_id', '=', appId)
      .where('token_id', '=', tokenId as number)
      .returning('token_hash')
      .executeTakeFirst()
    if (row) this.caches.adminTokens.forget(tx, row.token_hash)
    return row !== undefined
  }

  /** Counts the Admin tokens of all apps that are valid at a time. */
  async countValidAdminTokens(db: Queryable, now: number): Promise<number> {
    const { count } = await db
      .selectFrom('admin_tokens')
      .select((eb) => eb.fn.countAll().as('count'))
      .where('revoked_at', 'is', null)
      .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', now)]))
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  /** @returns null when the app has no such token, or it is revoked */
  async setAdminTokenScopes(
    tx: Tx,
    appId: string,
    tokenId: Int64,
    scopes: Scopes,
  ): Promise<StoredAdminToken | null> {
    const row = await tx
      .updateTable('admin_tokens')
      .set({ scopes: scopesText(scopes) })
      .where('app_id', '=', appId)
      .where('token_id', '=', tokenId as number)
      .where('revoked_at', 'is', null)
      .returning(camelCase(adminTokensTable))
      .executeTakeFirst()
    if (!row) return null
    const { tokenHash, ...token } = row
    this.caches.adminTokens.forget(tx, tokenHash)
    return toAdminToken(token)
  }

  async insertOperatorToken(tx: Tx, tokenHash: string, createdAt: number): Promise<void> {
    await tx
      .insertInto('operator_tokens')
      .values({ token_hash: tokenHash, created_at: createdAt })
      .execute()
  }

  async hasOperatorToken(db: Queryable, tokenHash: string): Promise<boolean> {
    const row = await db
      .selectFrom('operator_tokens')
      .select('token_hash')
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst()
    return row !== undefined
  }
}

function toAdminToken(row: TableRow<typeof adminTokenColumns>): StoredAdminToken {
  return convert(row, { scopes: toScopes(row.scopes) })
}

function toScopes(stored: string | null): Scopes {
  return stored === null ? null : new Set(stored.split(','))
}

function scopesText(scopes: Scopes): string | null {
  return scopes === null ? null : [...scopes].join(',')
}

function toApp(row: TableRow<typeof appsTable>): App {
  return convert(row, {
    openRegistration: row.openRegistration === 1,
    sealedRegistrationSecret: row.registrationSecret,
    sealedFileLinkKey: row.fileLinkKey,
    settings: parseSettings(row.settings),
  })
}
