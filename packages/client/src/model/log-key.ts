import type { LogKey, LogRecord } from './records.js'

/**
 * A log as the wire names it: both parties, the smaller ID first; a group twice; -1 and the sender
 * of broadcasts.
 */
export interface WireLog {
  readonly low_id: number
  readonly high_id: number
  readonly is_group: boolean
}

const broadcasts = -1

/** Returns the key of the direct conversation of two users. */
export function directKey(a: number, b: number): LogKey {
  return `d${Math.min(a, b)}.${Math.max(a, b)}`
}

/** Returns the key of the log of a group. */
export function groupKey(groupId: number): LogKey {
  return `g${groupId}`
}

/** Returns the key of the broadcasts of a sender; 0 is the system. */
export function broadcastKey(senderId: number): LogKey {
  return `b${senderId}`
}

/** Returns the keys of all logs that a conversation can have. */
export function keysOf(me: number, conversationId: number): readonly LogKey[] {
  return [groupKey(conversationId), directKey(me, conversationId), broadcastKey(conversationId)]
}

/** Returns the log that a key names, as the wire names it. */
export function wireLog(key: LogKey): WireLog {
  const [low = 0, high = low] = key.slice(1).split('.').map(Number)
  if (key.startsWith('b')) return { low_id: broadcasts, high_id: low, is_group: false }
  return { low_id: low, high_id: high, is_group: key.startsWith('g') }
}

/** @returns undefined: the value names no log */
export function logKeyOf(value: unknown): LogKey | undefined {
  const { low_id: low, high_id: high, is_group: isGroup } = Object(value) as Partial<WireLog>
  if (!isPositiveId(high) || typeof isGroup !== 'boolean') return undefined
  if (isGroup) return low === high ? groupKey(high) : undefined
  if (low === broadcasts) return broadcastKey(high)
  return isPositiveId(low) && low <= high ? directKey(low, high) : undefined
}

/** Returns the kind of a log. */
export function kindOf(key: LogKey): LogRecord['kind'] {
  if (key.startsWith('g')) return 'group'
  return key.startsWith('b') ? 'broadcast' : 'direct'
}

/** Returns the conversation in which a user sees a log: the other user, 0 for the system, or the group. */
export function conversationOf(key: LogKey, me: number): number {
  const { low_id: low, high_id: high } = wireLog(key)
  return kindOf(key) === 'direct' && high === me ? low : high
}

/** Returns the other log of the same conversation; undefined for a group. */
export function pairOf(key: LogKey, me: number): LogKey | undefined {
  const peer = conversationOf(key, me)
  if (kindOf(key) === 'group') return undefined
  return kindOf(key) === 'direct' ? broadcastKey(peer) : directKey(me, peer)
}

function isPositiveId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
