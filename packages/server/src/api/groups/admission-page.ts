import type { AdmissionPage } from '../../domain/groups/group-admission.js'

/** What an answer says of a list beside its entries. */
export function toListExtras({ nextCursor, total, version }: AdmissionPage<unknown>) {
  return { total, version, ...(nextCursor === null ? {} : { cursor: nextCursor }) }
}
