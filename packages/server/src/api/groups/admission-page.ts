import type { AdmissionPage } from '../../domain/groups/group-admission.js'

export function toPage<T, Entry>({ entries, nextCursor, total, version }: AdmissionPage<T>, toEntry: (entry: T) => Entry) {
  return { data: entries.map(toEntry), extras: { ...(nextCursor === null ? {} : { cursor: nextCursor }), total, version } }
}
