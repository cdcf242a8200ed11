import type { Batch } from '../model/batch.js'
import type { CoreEvent } from '../core/effects.js'
import type { Command } from '../core/inputs.js'
import type { LiveState } from '../core/live-state.js'
import type { CommandOutcome } from '../runtime/leader.js'

/**
 * Number of the shapes below and of all records in them. A change of a shape raises it: a tab ignores
 * lower numbers, and leaves the other tabs when it hears a higher one.
 */
export const channelVersion = 4

/** A message of a tab that leads; `generation` is that of its store. `to`: for one tab only. */
export type LeaderMessage = { readonly generation: number; readonly to?: string } & (
  | { readonly type: 'batch'; readonly batch: Batch }
  | { readonly type: 'live'; readonly live: LiveState }
  | { readonly type: 'event'; readonly event: CoreEvent }
  /** The first message of a leader, and its answer to `ask`. `missing`: commands that it does not know. */
  | {
      readonly type: 'here'
      readonly commit: number
      readonly live: LiveState
      readonly missing: readonly string[]
    }
  | { readonly type: 'taken'; readonly id: string }
  | { readonly type: 'done'; readonly id: string; readonly outcome: CommandOutcome }
)

/** A message of any tab. */
export type TabMessage =
  /** Is there a leader? `pending`: commands that wait for it; `isWanted`: this tab wants a connection. */
  | { readonly type: 'ask'; readonly pending: readonly string[]; readonly isWanted: boolean }
  /** The sender holds the lock and reads the store. */
  | { readonly type: 'starting' }
  | { readonly type: 'command'; readonly id: string; readonly command: Command }
  | { readonly type: 'cancel'; readonly id: string }
  /** The user sees the tab again. */
  | { readonly type: 'visible' }
  /** The app has called `connect` in this tab. */
  | { readonly type: 'connect' }
  /** The sender is not among the tabs any more. */
  | { readonly type: 'bye' }
  /** The store is deleted; every tab ends. */
  | { readonly type: 'destroyed' }

/** A message with its sender. */
export type ChannelMessage = { readonly from: string } & (LeaderMessage | TabMessage)

const isNumber = Number.isSafeInteger
const isText = (value: unknown) => typeof value === 'string'
const isObject = (value: unknown) => typeof value === 'object' && value !== null

/** The members of each message, and the check of each. */
const members: Readonly<Record<ChannelMessage['type'], Readonly<Record<string, Check>>>> = {
  batch: { generation: isNumber, batch: isBatch },
  live: { generation: isNumber, live: isObject },
  event: { generation: isNumber, event: isObject },
  here: { generation: isNumber, commit: isNumber, live: isObject, missing: Array.isArray },
  taken: { generation: isNumber, id: isText },
  done: { generation: isNumber, id: isText, outcome: isObject },
  ask: { pending: Array.isArray },
  starting: {},
  command: { id: isText, command: isObject },
  cancel: { id: isText },
  connect: {},
  visible: {},
  bye: {},
  destroyed: {},
}
type Check = (value: unknown) => boolean

function isBatch(value: unknown): boolean {
  if (!isObject(value)) return false
  const { meta, isReset, ...lists } = value as Batch
  return isObject(meta) && isNumber(meta.commit) && Object.values(lists).every(Array.isArray)
}

/** Returns a message as it is posted. */
export function envelope(from: string, message: LeaderMessage | TabMessage): object {
  return { hermod: channelVersion, from, ...message }
}

/**
 * Reads what came over the channel.
 * @returns null: nothing for this tab, or of another shape; `newer`: of a newer version of the page
 */
export function readMessage(value: unknown, self: string): ChannelMessage | 'newer' | null {
  if (!isObject(value)) return null
  const message = value as Readonly<Record<string, unknown>>
  const { hermod, from, type, to = self } = message
  if (isNumber(hermod) && (hermod as number) > channelVersion) return 'newer'
  if (hermod !== channelVersion || !isText(from) || to !== self) return null
  const checks = Object.hasOwn(members, String(type)) && members[type as ChannelMessage['type']]
  if (!checks) return null
  const isValid = Object.entries(checks).every(([name, check]) => check(message[name]))
  return isValid ? (value as ChannelMessage) : null
}
