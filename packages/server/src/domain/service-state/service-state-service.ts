import { AppError } from '@hermod/protocol'
import type { Database, StatementTx } from '../../db/database.js'
import type { ServiceStateStore, StoredServiceState } from '../../db/identity/service-state.js'
import type { Clock } from '../../lib/clock.js'
import type { ServiceState } from './service-state.js'

interface ServiceStateServiceOptions {
  readonly database: Database
  readonly store: ServiceStateStore
  readonly state: ServiceState
  readonly clock: Clock
}

const serving: StoredServiceState = { state: 'serving', text: '', since: 0 }

/** Begins and ends the states in which the service refuses calls. */
export class ServiceStateService {
  constructor(private readonly options: ServiceStateServiceOptions) {}

  /** Returns the state that is stored. */
  async get(): Promise<StoredServiceState> {
    const { database, store, state } = this.options
    const { service } = await database.read((db) => store.current(db))
    state.found(service)
    return service
  }

  /** @throws AppError restore_unfinished */
  beginMaintenance(text: string): Promise<StoredServiceState> {
    const since = this.options.clock.now()
    return this.#setMaintenance({ state: 'maintenance', text, since })
  }

  /** @throws AppError restore_unfinished */
  endMaintenance(): Promise<StoredServiceState> {
    return this.#setMaintenance(serving)
  }

  /**
   * Ends the state `restored` in the transaction that finishes a restore: background work begins, and
   * users are served.
   * @returns false when the service has another state
   */
  async finishRestored(tx: StatementTx): Promise<boolean> {
    const { store, state } = this.options
    const isFinished = await store.setState(tx, serving, ['restored'])
    if (isFinished) tx.afterCommit(() => state.found(serving))
    return isFinished
  }

  async #setMaintenance(to: StoredServiceState): Promise<StoredServiceState> {
    const { database, store, state } = this.options
    const isSet = await database.statement((tx) =>
      store.setState(tx, to, ['serving', 'maintenance']),
    )
    if (!isSet) throw new AppError('restore_unfinished', 'hermod restore finish does it')
    state.found(to)
    return to
  }
}
