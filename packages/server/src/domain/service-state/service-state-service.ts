import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '@hermod/protocol'
import type { Database, StatementTx } from '../../db/database.js'
import type { ServiceStateStore, StoredServiceState } from '../../db/identity/service-state.js'
import type { Clock } from '../../lib/clock.js'
import type { ServiceState, WritesFigure } from './service-state.js'

interface ServiceStateServiceOptions {
  readonly database: Database
  readonly store: ServiceStateStore
  readonly state: ServiceState
  /** Lists the figures of the other nodes, as of their last heartbeats. */
  readonly otherNodes: () => Promise<readonly WritesFigure[]>
  readonly clock: Clock
}

/** The time for calls to end; a node that is killed counts as dead within it. */
const endMs = 20_000
const lookMs = 100

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

  /**
   * Refuses writes on all nodes, and waits until those that had begun have ended.
   * @throws AppError restore_unfinished; unavailable when some have not ended after 20 seconds
   */
  async beginMaintenance(text: string): Promise<StoredServiceState> {
    const since = this.options.clock.now()
    const begun = await this.#setMaintenance({ state: 'maintenance', text, since })
    const startedAt = performance.now()
    while (!(await this.#haveWritesEnded(since))) {
      if (performance.now() - startedAt > endMs)
        throw new AppError(
          'unavailable',
          'maintenance is on, but calls that had begun before are still in progress; run hermod maintenance on again to wait for them',
        )
      await sleep(lookMs)
    }
    return begun
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

  /** Tells whether every node knows the state and has no calls that write. */
  async #haveWritesEnded(since: number): Promise<boolean> {
    const { state, otherNodes } = this.options
    const nodes = [state.figure, ...(await otherNodes())]
    return nodes.every((node) => node.since === since && node.writes === 0)
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
