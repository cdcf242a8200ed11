/** Totals of the whole list, of which a page shows a part. */
export interface ListTotals {
  readonly total: number
  /** Time of the newest change, ms; 0 if there was none. */
  readonly version: number
}

/** One page of a list about groups, with the totals. */
export interface GroupPage<Entry> extends ListTotals {
  readonly entries: readonly Entry[]
  /** null on the last page */
  readonly nextCursor: string | null
}
