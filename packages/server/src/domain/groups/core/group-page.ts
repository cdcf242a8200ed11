/** The whole list behind a page. */
export interface ListTotals {
  readonly total: number
  /** The newest change, ms; 0 when there never was one. */
  readonly version: number
}

/** One page of a list about groups, with the totals of the whole list. */
export interface GroupPage<Entry> extends ListTotals {
  readonly entries: readonly Entry[]
  /** null on the last page */
  readonly nextCursor: string | null
}
