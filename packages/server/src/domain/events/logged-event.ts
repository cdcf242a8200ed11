import type { CommittedKind } from '@hermod/protocol/events'
import { stringifyJson } from '../../lib/json.js'

/** Kinds of events of other systems: committed ones, and those about the endpoint itself. */
export type LoggedKind = CommittedKind | 'events.missed' | 'webhook.test'

/**
 * An event as webhooks and readers of the log get it; the body of a webhook has these members in
 * snake case.
 */
export interface LoggedEvent {
  /** See {@link EventIds}; the same in every attempt. */
  readonly id: string
  readonly kind: LoggedKind
  readonly appId: string
  /** The position of its row; the messages of one row share it. */
  readonly position: number
  /** The number of the event within its row, from 1. */
  readonly place: number
  /** True: no event of its row follows it. Absent where that is not known. */
  readonly isLast?: boolean
  /** Tells the messages of one row apart: the msg_id; "" = the only event of the row. */
  readonly name: string
  /** See eventKey of the protocol. */
  readonly key: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly payload: Readonly<Record<string, unknown>>
}

/** Size of an event without its payload, roughly. */
const envelopeBytes = 300

/** Returns the bytes of an event in the body of a request, roughly: for limits on memory and requests. */
export function sizeOf({ payload }: Pick<LoggedEvent, 'payload'>): number {
  return envelopeBytes + Buffer.byteLength(stringifyJson(payload))
}
