import type { Operation } from '../operation.js'
import * as alerts from './alerts.js'
import * as apps from './apps.js'
import * as backups from './backups.js'
import * as contacts from './contacts.js'
import * as devices from './devices.js'
import * as erasure from './erasure.js'
import * as files from './files/index.js'
import * as groups from './groups/index.js'
import * as identity from './identity/index.js'
import * as imports from './imports.js'
import * as integrity from './integrity.js'
import * as jobs from './jobs.js'
import * as login from './login.js'
import * as messaging from './messaging.js'
import * as nodes from './nodes.js'
import * as push from './push/index.js'
import * as realtime from './realtime/realtime.js'
import * as restore from './restore.js'
import * as secrets from './secrets.js'
import * as serviceState from './service-state.js'
import * as sync from './realtime/sync.js'
import { tags } from './tags.js'
import * as users from './users/index.js'
import * as webhooks from './webhooks/index.js'

export * from './alerts.js'
export * from './apps.js'
export * from './backups.js'
export * from './contacts.js'
export * from './devices.js'
export * from './erasure.js'
export * from './files/index.js'
export * from './groups/index.js'
export * from './identity/index.js'
export * from './imports.js'
export * from './integrity.js'
export * from './jobs.js'
export * from './login.js'
export * from './messaging.js'
export * from './nodes.js'
export * from './push/index.js'
export * from './realtime/realtime.js'
export * from './restore.js'
export * from './secrets.js'
export * from './service-state.js'
export * from './realtime/sessions.js'
export * from './realtime/sync.js'
export { type Tag, tags } from './tags.js'
export * from './users/index.js'
export * from './webhooks/index.js'

const order = Object.keys(tags)

function byTagAndPath(a: Operation, b: Operation): number {
  return (
    order.indexOf(a.tag) - order.indexOf(b.tag) || (a.path < b.path ? -1 : Number(a.path > b.path))
  )
}

/**
 * Every operation of the API by tag and path. The modules of the domains export only operations.
 */
export const operations: readonly Operation[] = [
  alerts,
  apps,
  backups,
  contacts,
  devices,
  erasure,
  files,
  groups,
  identity,
  imports,
  integrity,
  jobs,
  login,
  messaging,
  nodes,
  push,
  realtime,
  restore,
  secrets,
  serviceState,
  sync,
  users,
  webhooks,
]
  .flatMap((module): Operation[] => Object.values(module))
  .sort(byTagAndPath)

type Modules =
  | typeof apps
  | typeof contacts
  | typeof devices
  | typeof files
  | typeof groups
  | typeof identity
  | typeof login
  | typeof messaging
  | typeof push
  | typeof realtime
  | typeof sync
  | typeof users
  | typeof webhooks
type Defined = Modules extends infer M ? (M extends unknown ? M[keyof M] : never) : never

/** The type of each operation for applications, by its ID. */
export type OperationTypes = {
  readonly [O in Defined as O extends { readonly id: infer Id extends string } ? Id : never]: O
}

/** The operations by ID. */
export const operationsById: ReadonlyMap<string, Operation> = new Map(
  operations.map((each) => [each.id, each]),
)
