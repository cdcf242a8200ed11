/** Fields of messages that change after the send, and alterations of messages that may not be stored. */
import type { MessageFields, MessageRecord, MessageTexts } from './records.js'

/** New values of fields of a message, null removes one, and its texts after an edit; absent: the same. */
export interface PartialAlteration {
  readonly set: MessageFields
  readonly texts?: MessageTexts
}

/** The message after an alteration, null where it is gone, or what has changed of it. */
export type Alteration = MessageRecord | null | PartialAlteration

/** Returns a message after a change of fields; null removes one. */
export function withFields(message: MessageRecord, set: MessageFields): MessageRecord {
  const { fields, ...others } = message
  const kept = Object.entries({ ...fields, ...set }).filter(([, value]) => value !== null)
  return kept.length === 0 ? others : { ...others, fields: Object.fromEntries(kept) }
}

/** Returns a message after an alteration. */
export function altered(message: MessageRecord, { set, texts }: PartialAlteration): MessageRecord {
  return { ...withFields(message, set), ...texts }
}

/** Returns what an edit changes of a message. */
export function textsOf(edited: MessageRecord): MessageTexts {
  const { contentType, content, attachment, config, ext, editTimestamp } = edited
  return { contentType, content, attachment, config, ext, editTimestamp }
}

/** Tests whether an alteration has the whole message. */
export function isWhole(alteration: Alteration | undefined): alteration is MessageRecord {
  return !!alteration && 'msgId' in alteration
}

/** Returns two alterations of one message as one. */
export function combined(first: Alteration | undefined, next: Alteration): Alteration {
  if (!next || isWhole(next) || first === undefined) return next
  if (!first) return first
  if (isWhole(first)) return altered(first, next)
  return { ...first, ...next, set: { ...first.set, ...next.set } }
}

const ownPrefix = 'own '

/**
 * Returns the own reaction to a message as a field: one for each key, so that changes of several keys
 * are changes of several fields.
 */
export function ownField(key: string, isOn: boolean): MessageFields {
  return { [`${ownPrefix}${key}`]: isOn || null }
}

/** Returns the keys of the own reactions to a message. */
export function ownKeys({ fields = {} }: Pick<MessageRecord, 'fields'>): readonly string[] {
  return Object.keys(fields)
    .filter((name) => name.startsWith(ownPrefix))
    .map((name) => name.slice(ownPrefix.length))
}
