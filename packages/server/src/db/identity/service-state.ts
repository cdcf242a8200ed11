import type { serviceStates } from '@hermod/protocol'
import type { Queryable, StatementTx } from '../database.js'

/** The state of the service, which all nodes act by. */
export interface StoredServiceState {
  readonly state: (typeof serviceStates)[number]
  /** What refused callers read. */
  readonly text: string
  /** Milliseconds since 1970; 0 for `serving` */
  readonly since: number
}

/** The store of the state. */
export interface ServiceStateStore {
  current(db: Queryable): Promise<{ readonly service: StoredServiceState }>
  /** @returns false when the service has none of the states `from` */
  setState(
    tx: StatementTx,
    state: StoredServiceState,
    from: readonly StoredServiceState['state'][],
  ): Promise<boolean>
}
