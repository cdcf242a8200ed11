import type { Queryable } from '../../db/database.js'
import type { ConnectionGuard } from '../../db/dialect/dialect.js'
import type { IdReservations } from '../../db/id-reservations.js'
import type { IdGenerator } from '../../lib/ids/ids.js'

interface LossGuardOptions {
  readonly ids: Pick<IdGenerator, 'giveUp' | 'reserveAnew'>
  readonly reservations: Pick<IdReservations, 'on'>
}

/**
 * The checks of connections after a lost one, when the database may have lost commits in a
 * failover.
 */
export class LossGuard implements ConnectionGuard<Queryable> {
  #losses = 0
  /** The number of losses that were followed by a check. */
  #checked = 0

  constructor(private readonly options: LossGuardOptions) {}

  lost(): void {
    this.#losses++
    this.options.ids.giveUp()
  }

  async admit(db: Queryable): Promise<void> {
    await this.#reserveIds(db)
  }

  async #reserveIds(db: Queryable): Promise<void> {
    const { ids, reservations } = this.options
    const losses = this.#losses
    if (losses === this.#checked) return
    try {
      await ids.reserveAnew(reservations.on(db))
      this.#checked = losses
    } catch {
      // No ID is issued until a reservation succeeds, also where the database only reads.
    }
  }
}
