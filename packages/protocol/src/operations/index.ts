import type { Operation } from '../operation.js'
import * as applications from './app-flags.js'
import * as contacts from './contacts.js'
import * as devices from './devices.js'
import * as files from './files.js'
import * as groupSettings from './group-settings.js'
import * as groups from './groups.js'
import * as tokens from './login.js'
import * as messages from './messaging.js'
import * as operator from './operator.js'
import * as push from './push.js'
import { tags } from './tags.js'
import * as userSettings from './user-settings.js'
import * as users from './users.js'

export * from './app-flags.js'
export * from './contacts.js'
export * from './devices.js'
export * from './devices.js'
export * from './files.js'
export * from './group-settings.js'
export * from './groups.js'
export * from './login.js'
export * from './messaging.js'
export * from './operator.js'
export * from './push.js'
export { type Tag, tags } from './tags.js'
export * from './user-settings.js'
export * from './users.js'

const order = Object.keys(tags)

function compare(a: Operation, b: Operation): number {
  return (
    order.indexOf(a.tag) - order.indexOf(b.tag) || (a.path < b.path ? -1 : Number(a.path > b.path))
  )
}

/** Every operation of the API, once, by tag and path. The modules export operations and nothing else. */
export const operations: readonly Operation[] = [
  tokens,
  users,
  userSettings,
  devices,
  contacts,
  messages,
  push,
  groups,
  groupSettings,
  files,
  applications,
  operator,
]
  .flatMap((module): Operation[] => Object.values(module))
  .sort(compare)

export const operationsById: ReadonlyMap<string, Operation> = new Map(
  operations.map((each) => [each.id, each]),
)
