import type { CloseName, Operation } from '@hermod/protocol'
import type { Identity, Params } from '../../support/walk/walk-world.js'
import type { Cast, WatchedRole } from './cast.js'

export interface RowOptions {
  /** Tells rows of one operation apart. */
  readonly as?: string
  /** Default: the first device of the actor. */
  readonly by?: (cast: Cast) => Identity
  /** Roles whose devices are compared; default: all. */
  readonly watches?: readonly WatchedRole[]
  /** The session of the actor's other device is closed with this code. */
  readonly endsActor?: CloseName
  /** All users of the application receive it. */
  readonly reachesAll?: boolean
}

/** A call of an operation that changes something, and its caller. */
export interface Row extends RowOptions {
  readonly operation: Operation
  /** Prepares what the call needs; the devices have received that before the call. */
  readonly params: (cast: Cast) => Params | Promise<Params>
}

export function row(
  operation: unknown,
  params: Row['params'] | Params = {},
  options: RowOptions = {},
): Row {
  return {
    operation: operation as Operation,
    params: typeof params === 'function' ? params : () => params,
    ...options,
  }
}

/** Returns rows that compare no devices of an admin or owner of a group. */
export const withoutAdmins = (rows: readonly Row[]): Row[] =>
  rows.map((each) => ({ watches: ['actor', 'friend', 'member'], ...each }))

export const nameOf = ({ operation, as }: Row): string =>
  as === undefined ? operation.id : `${operation.id}, ${as}`

/** The application's Admin token, for the actor or for itself. */
export const byAppForActor = ({ server, actor }: Cast): Identity => ({
  token: server.adminToken,
  userId: actor,
})
export const byApp = ({ server }: Cast): Identity => ({ token: server.adminToken })
export const byOperator = ({ server }: Cast): Identity => ({
  token: server.operatorToken,
  appId: null,
})
