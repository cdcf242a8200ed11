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

/** Tests whether an alteration has the whole message. */
export function isWhole(alteration: Alteration | undefined): alteration is MessageRecord {
  return !!alteration && 'msgId' in alteration
}

/** Returns two alterations of one message as one. */
export function combined(first: Alteration | undefined, next: Alteration): Alteration {
  if (!next || isWhole(next) || first === undefined) return next
  if (!first) return first
  return isWhole(first) ? withFields(first, next.set) : { set: { ...first.set, ...next.set } }
}
