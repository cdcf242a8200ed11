import type { CachedRead, LogKey } from './records.js'

/**
 * A state of a message that the user wants, until the server has it: a reaction, or the pin of the
 * message. Of each the last wanted state counts.
 */
export interface Wish {
  readonly log: LogKey
  readonly msgId: number
  /** The key of a reaction; absent: the pin of the message. */
  readonly reaction?: string
  readonly isOn: boolean
}

/** The key of the record with all wishes, among the cached reads. */
export const wishesKey = 'wishes'

/** Returns the wishes that are stored. */
export function wishesOf(record: CachedRead | undefined): readonly Wish[] {
  return Array.isArray(record?.value) ? (record.value as readonly Wish[]) : []
}

/** The form in which the server compares keys of reactions. */
export function reactionForm(key: string): string {
  return key.replaceAll('\uFE0F', '').normalize('NFC')
}

/** Returns a text that two wishes share when the later one replaces the other. */
export function nameOfWish({ log, msgId, reaction }: Omit<Wish, 'isOn'>): string {
  return `${log} ${msgId} ${reaction === undefined ? 'pin' : `reaction ${reactionForm(reaction)}`}`
}
