import type { GroupPage } from '../../domain/groups/core/group-page.js'

/** Returns a page of a group as the result of a call; `cursor` is absent on the last page. */
export function toPage<T, Entry>(
  { entries, nextCursor, total, version }: GroupPage<T>,
  toEntry: (entry: T) => Entry,
) {
  return {
    data: entries.map(toEntry),
    extras: { ...(nextCursor === null ? {} : { cursor: nextCursor }), total, version },
  }
}
