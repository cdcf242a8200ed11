/** What a caller asks of a list. */
export interface PageRequest {
  /** Of the page before; undefined or '' = from the start */
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

/** The whole list behind a page. */
export interface ListTotals {
  readonly total: number
  /** The newest change, ms; 0 when there never was one. */
  readonly version: number
}

export interface GroupPage<Entry> extends ListTotals {
  readonly entries: readonly Entry[]
  /** null on the last page */
  readonly nextCursor: string | null
}
