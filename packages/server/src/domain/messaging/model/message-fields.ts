/** The fields of a message that change after its send, as its row has them. */
import type { ChangeableField, ChangeableFields } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'

/** New values of fields; null removes one. */
export type FieldChanges = EventPayloads['message.updated']['set']

const none: ChangeableFields = {}

/** Returns the fields of a message. */
export function fieldsOf({ fields }: { readonly fields: string | null }): ChangeableFields {
  return fields === null ? none : (JSON.parse(fields) as ChangeableFields)
}

/** Returns the fields after changes, as the row has them: null when none is left. */
export function changedFields(
  message: { readonly fields: string | null },
  set: FieldChanges,
): string | null {
  const kept = Object.entries({ ...fieldsOf(message), ...set }).filter(([, value]) => value != null)
  return kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept))
}

/** Returns the names of the fields that changes are about. */
export function fieldNames(set: FieldChanges): ChangeableField[] {
  return Object.keys(set) as ChangeableField[]
}
