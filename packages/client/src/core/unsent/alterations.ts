/** Edits and recalls among the unsent entries. */
import type { MessageRecord, UnsentAlteration, UnsentRecord } from '../../model/records.js'
import type { OwnEdits } from './sent-memory.js'

/** An entry that edits or recalls a message. */
export type AlteringRecord = UnsentRecord & { readonly alters: UnsentAlteration }

/** Tests for an entry that edits or recalls a message. */
export function isAltering(entry: UnsentRecord): entry is AlteringRecord {
  return entry.alters !== undefined
}

/** Returns the ID of the message that an entry is about; 0: not known yet. */
export function msgIdOf({ alters, msgId = 0 }: UnsentRecord): number {
  return alters?.msgId ?? msgId
}

/** Returns an alteration of a message with any edits. */
export function unconditional({ seenEdit: _seen, ...alters }: UnsentAlteration): UnsentAlteration {
  return alters
}

/** Names a message, as an alteration does. */
export interface AlteredMessage {
  readonly msgId: number
  readonly of?: number | undefined
}

/** Tests whether an entry edits or recalls a message. */
export function isAbout({ alters }: AlteringRecord, { msgId, of }: AlteredMessage): boolean {
  return alters.msgId > 0 ? alters.msgId === msgId : of !== undefined && alters.of === of
}

/** The effects of a message, as it is in the log, on the edits of it. */
export interface SeenEdits {
  /** Edits that have come, or that another one has overtaken. */
  readonly done: readonly AlteringRecord[]
  /** Edits that are based on one of these. */
  readonly rebased: readonly AlteringRecord[]
  /** Absent: the message has no text of these. */
  readonly own?: OwnEdits
}

/**
 * Compares the edits of a message with the message.
 * @param edits in the order in which they are sent
 */
export function editsSeen(
  edits: readonly AlteringRecord[],
  { content, editTimestamp }: MessageRecord,
): SeenEdits {
  const isNewer = ({ alters }: AlteringRecord) => editTimestamp > (alters.seenEdit ?? 0)
  const last = edits.findLastIndex((edit) => isNewer(edit) && edit.content === content)
  const done = edits.filter((edit, at) => at <= last || (edit.state === 'sent' && isNewer(edit)))
  const from = edits[last]?.alters.seenEdit
  if (from === undefined) return { done, rebased: [] }
  const rebased = edits
    .filter(({ alters }, at) => at > last && alters.seenEdit === from)
    .map((edit) => ({ ...edit, alters: { ...edit.alters, seenEdit: editTimestamp } }))
  return { done, rebased, own: { from, to: editTimestamp } }
}
