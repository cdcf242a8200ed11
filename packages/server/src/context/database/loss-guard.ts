import type { Queryable } from '../../db/database.js'
import type { ConnectionGuard } from '../../db/dialect/dialect.js'
import type { IdReservations } from '../../db/id-reservations.js'
import type { Epoch } from '../../db/identity/epoch.js'
import type { IdentityStore, LostRow } from '../../db/identity/identity-store.js'
import type { IdGenerator } from '../../lib/ids/ids.js'
import type { SeenPositions } from '../../outbox/seen-positions.js'

interface LossGuardOptions {
  readonly ids: Pick<IdGenerator, 'giveUp' | 'reserveAnew'>
  readonly reservations: Pick<IdReservations, 'on'>
  readonly epoch: Pick<Epoch, 'current' | 'replacedBy' | 'found'>
  readonly seen: Pick<SeenPositions, 'list'>
  readonly store: Pick<IdentityStore, 'compare' | 'renewLost'>
  /** The database has lost rows. @param epoch the one that this node has begun; null = another node did */
  lostHistory(lost: readonly LostRow[], epoch: string | null): void
}

/**
 * The checks of each new connection, since PostgreSQL may have lost commits in a failover. They run
 * on the connection itself, before any other statement.
 */
export class LossGuard implements ConnectionGuard<Queryable> {
  #losses = 0
  /** The number of losses that were followed by a check. */
  #checked = 0

  constructor(private readonly options: LossGuardOptions) {}

  get refusal(): Error | null {
    const { replacedBy } = this.options.epoch
    return replacedBy === null ? null : new OtherHistoryError()
  }

  lost(): void {
    this.#losses++
    this.options.ids.giveUp()
  }

  async admit(db: Queryable): Promise<void> {
    await this.#compareHistory(db)
    await this.#reserveIds(db)
  }

  /** @throws OtherHistoryError */
  async #compareHistory(db: Queryable): Promise<void> {
    const { epoch, seen, store, lostHistory } = this.options
    const { epoch: found, lost } = await store.compare(db, seen.list())
    if (found === epoch.current && lost.length === 0) return
    if (lost.length > 0) {
      const renewed = found === epoch.current ? await store.renewLost(db, found, lost) : null
      if (epoch.replacedBy === null) lostHistory(lost, renewed)
      epoch.found(renewed ?? (await store.compare(db, [])).epoch)
    } else epoch.found(found)
    throw new OtherHistoryError()
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

/** The database has another history than this process. */
class OtherHistoryError extends Error {
  override readonly name = 'OtherHistoryError'

  constructor() {
    super('the database has another history than this process, which ends')
  }
}
