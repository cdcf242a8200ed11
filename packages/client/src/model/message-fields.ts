/** Fields of messages that change after the send, and alterations of messages that may not be stored. */
import type { MessageFields, MessageRecord } from './records.js'

/** The message after an alteration, null where it is gone, or new values of some of its fields. */
export type Alteration = MessageRecord | null | { readonly set: MessageFields }

/** Returns a message after a change of fields; null removes one. */
export function withFields(message: MessageRecord, set: MessageFields): MessageRecord {
  const { fields, ...others } = message
  const kept = Object.entries({ ...fields, ...set }).filter(([, value]) => value !== null)
  return kept.length === 0 ? others : { ...others, fields: Object.fromEntries(kept) }
}

/** Returns a message after an alteration; null: it is gone. */
export function altered(message: MessageRecord, alteration: Alteration): MessageRecord | null {
  return alteration !== null && 'set' in alteration
    ? withFields(message, alteration.set)
    : alteration
}

/** Returns two alterations of one message as one. */
export function combined(first: Alteration | undefined, next: Alteration): Alteration {
  if (first === undefined || next === null || !('set' in next)) return next
  if (first === null) return null
  return 'set' in first ? { set: { ...first.set, ...next.set } } : altered(first, next)
}
