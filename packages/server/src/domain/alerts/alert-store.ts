import type { Int64 } from '@hermod/protocol'
import { camelCase, type TableRow } from '../../db/columns.js'
import type { Queryable, StatementTx } from '../../db/database.js'
import { alertsTable } from '../../db/schema.js'
import type { AlertKind } from './alert-conditions.js'

/** The last alert of a kind. */
export type StoredAlert = TableRow<typeof alertsTable>

/** An alert that is raised. */
export interface NewAlert {
  readonly kind: AlertKind
  readonly alertId: Int64
  readonly text: string
  readonly now: number
}

/** The last alert of each kind. */
export class AlertStore {
  /** The oldest first. */
  list(db: Queryable): Promise<StoredAlert[]> {
    return db
      .selectFrom('alerts')
      .select(camelCase(alertsTable))
      .orderBy('raised_at')
      .orderBy('alert_id')
      .execute()
  }

  /**
   * Stores an alert in place of the last one.
   * @returns false when that one is younger than `leastMs`; one of the future is of a wrong clock
   */
  async raise(
    tx: StatementTx,
    { kind, alertId, text, now }: NewAlert,
    leastMs: number,
  ): Promise<boolean> {
    const alert = {
      ...{ alert_id: alertId, text, raised_at: now, delivered_at: null, attempts: 0, error: '' },
    }
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('alerts')
      .values({ kind, ...alert })
      .onConflict((conflict) =>
        conflict
          .column('kind')
          .doUpdateSet(alert)
          .where((raised) =>
            raised.or([
              raised('alerts.raised_at', '<=', now - leastMs),
              raised('alerts.raised_at', '>', now + leastMs),
            ]),
          ),
      )
      .executeTakeFirstOrThrow()
    return (numInsertedOrUpdatedRows ?? 0n) > 0n
  }

  /** Stores the outcome of an attempt. @param error '' = the receiver took it */
  async attempted(
    tx: StatementTx,
    { kind, alertId, attempts }: Pick<StoredAlert, 'kind' | 'alertId' | 'attempts'>,
    { error, now }: { readonly error: string; readonly now: number },
  ): Promise<void> {
    await tx
      .updateTable('alerts')
      .set({ attempts: attempts + 1, error, delivered_at: error === '' ? now : null })
      .where('kind', '=', kind)
      .where('alert_id', '=', alertId)
      .execute()
  }

  async setFinding(tx: StatementTx, kind: AlertKind, finding: string): Promise<void> {
    await tx
      .insertInto('alerts')
      .values({ kind, finding })
      .onConflict((conflict) => conflict.column('kind').doUpdateSet({ finding }))
      .execute()
  }

  /** @returns '' for none */
  async finding(db: Queryable, kind: AlertKind): Promise<string> {
    const row = await db
      .selectFrom('alerts')
      .select('finding')
      .where('kind', '=', kind)
      .executeTakeFirst()
    return row?.finding ?? ''
  }
}
