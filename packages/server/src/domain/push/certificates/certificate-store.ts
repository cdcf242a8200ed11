import type { Int64 } from '@hermod/protocol'
import { camelCase, convert, type TableRow } from '../../../db/columns.js'
import type { Queryable, Tx } from '../../../db/database.js'
import type { Insertable, Updateable } from '../../../db/kysely.js'
import { lockNoKeyUpdate } from '../../../db/locking.js'
import { pushCertificatesTable, type Schema } from '../../../db/schema.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import type { CertificateKey, ExpiringCertificate, StoredCertificate } from './certificate-model.js'

type CertificateRow = TableRow<typeof pushCertificatesTable>

const columns = camelCase(pushCertificatesTable)
/** Resolution of the time of the last accepted push. */
const acceptedStepMs = 60_000

/** Credentials of applications at push gateways. */
export class CertificateStore {
  constructor(
    private readonly caches: {
      readonly certificates: Invalidates<string>
      readonly certificateOwners: Invalidates<Int64>
    },
  ) {}

  /** Lists by ID, the order of creation. */
  async list(db: Queryable, appId: string): Promise<StoredCertificate[]> {
    const rows = await db
      .selectFrom('push_certificates')
      .select(columns)
      .where('app_id', '=', appId)
      .orderBy('certificate_id')
      .execute()
    return rows.map(toCertificate)
  }

  /** Lists the certificates of all applications. */
  async listAll(db: Queryable): Promise<StoredCertificate[]> {
    const rows = await db
      .selectFrom('push_certificates')
      .select(columns)
      .orderBy('app_id')
      .orderBy('certificate_id')
      .execute()
    return rows.map(toCertificate)
  }

  /** Lists the certificates of all applications with an expiry, the earliest first. */
  async listExpiring(db: Queryable): Promise<ExpiringCertificate[]> {
    const rows = await db
      .selectFrom('push_certificates')
      .select(camelCase(['app_id', 'name', 'channel', 'expires_at']))
      .where('expires_at', 'is not', null)
      .orderBy('expires_at')
      .orderBy('certificate_id')
      .execute()
    return rows.map((row) => convert(row, { expiresAt: Number(row.expiresAt) }))
  }

  async count(db: Queryable): Promise<number> {
    const { count } = await db
      .selectFrom('push_certificates')
      .select(db.fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  async findByName(db: Queryable, appId: string, name: string): Promise<StoredCertificate | null> {
    const row = await db
      .selectFrom('push_certificates')
      .select(columns)
      .where('app_id', '=', appId)
      .where('name', '=', name)
      .executeTakeFirst()
    return row ? toCertificate(row) : null
  }

  /** Finds the application of a certificate. */
  async findOwner(db: Queryable, certificateId: Int64): Promise<{ appId: string } | null> {
    const row = await db
      .selectFrom('push_certificates')
      .select(camelCase(['app_id']))
      .where('certificate_id', '=', certificateId)
      .executeTakeFirst()
    return row ?? null
  }

  /**
   * Inserts a certificate. The caller has locked the application and checked that the name is free.
   */
  async insert(tx: Tx, row: Insertable<Schema['push_certificates']>): Promise<void> {
    this.caches.certificates.forget(tx, row.app_id)
    await tx.insertInto('push_certificates').values(row).execute()
  }

  async update(
    tx: Tx,
    { appId, certificateId }: CertificateKey,
    changes: Updateable<Schema['push_certificates']>,
  ): Promise<void> {
    this.caches.certificates.forget(tx, appId)
    await tx
      .updateTable('push_certificates')
      .set(changes)
      .where('app_id', '=', appId)
      .where('certificate_id', '=', certificateId)
      .execute()
  }

  /** Replaces the encrypted secrets if they are still `before`. */
  async reseal(tx: Tx, appId: string, before: string, sealed: string): Promise<void> {
    this.caches.certificates.forget(tx, appId)
    await tx
      .updateTable('push_certificates')
      .set({ sealed })
      .where('app_id', '=', appId)
      .where('sealed', '=', before)
      .execute()
  }

  async delete(tx: Tx, { appId, certificateId }: CertificateKey): Promise<void> {
    this.caches.certificates.forget(tx, appId)
    this.caches.certificateOwners.forget(tx, certificateId)
    await tx
      .deleteFrom('push_certificates')
      .where('app_id', '=', appId)
      .where('certificate_id', '=', certificateId)
      .execute()
  }

  /**
   * Records an accepted push. Writes nothing within a minute of the last one; callers that check
   * `lastAcceptedAt` of the entry first save the statement.
   */
  async recordAccepted(
    tx: Tx,
    { appId, certificateId }: CertificateKey,
    at: number,
  ): Promise<void> {
    const { numUpdatedRows } = await tx
      .updateTable('push_certificates')
      .set({ last_accepted_at: at })
      .where('app_id', '=', appId)
      .where('certificate_id', '=', certificateId)
      .where('last_accepted_at', '<=', at - acceptedStepMs)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) this.caches.certificates.forget(tx, appId)
  }

  /** Records the ends of used-up quotas; known ends that are not earlier stay. */
  async pause(
    tx: Tx,
    { appId, certificateId }: CertificateKey,
    pauses: StoredCertificate['pauses'],
  ): Promise<void> {
    if (Object.keys(pauses).length === 0) return
    const named = tx
      .selectFrom('push_certificates')
      .select('pauses')
      .where('app_id', '=', appId)
      .where('certificate_id', '=', certificateId)
    const row = await lockNoKeyUpdate(tx, named).executeTakeFirst()
    if (!row) return
    const known = JSON.parse(row.pauses) as Record<string, number>
    const later = Object.entries(pauses).filter(([scope, until]) => until > (known[scope] ?? 0))
    if (later.length === 0) return
    const all = JSON.stringify({ ...known, ...Object.fromEntries(later) })
    await this.update(tx, { appId, certificateId }, { pauses: all })
  }
}

function toCertificate(row: CertificateRow): StoredCertificate {
  return convert(row, {
    channel: row.channel as StoredCertificate['channel'],
    options: JSON.parse(row.options),
    pauses: JSON.parse(row.pauses),
  })
}
