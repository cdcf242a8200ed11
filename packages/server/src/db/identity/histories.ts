/** A part of the outbox of an app that was committed under one epoch. */
export interface History {
  readonly appId: string
  /** Its first position. It ends where the next history of the app begins. */
  readonly from: number
  readonly epoch: string
}

/** The histories of all apps, as a process knows them, which lives in one epoch. */
export class Histories {
  /** Of each app in their order. */
  readonly #byApp: ReadonlyMap<string, readonly History[]>
  readonly first: string
  readonly current: string

  /**
   * @param options.first the epoch under which the database was made
   * @param options.rows by app, in their order
   */
  constructor({
    first,
    current,
    rows,
  }: {
    readonly first: string
    readonly current: string
    readonly rows: readonly History[]
  }) {
    this.first = first
    this.current = current
    const byApp = new Map<string, History[]>()
    for (const row of rows) byApp.set(row.appId, [...(byApp.get(row.appId) ?? []), row])
    this.#byApp = byApp
  }

  /** Returns the epoch under which a position was committed. An unknown app is a new one. */
  epochOf(appId: string, position: number): string {
    const histories = this.#byApp.get(appId)
    if (histories === undefined) return this.current
    return histories.findLast(({ from }) => from <= position)?.epoch ?? this.first
  }

  /**
   * Returns the last position of an app that both this database and one of the epoch have; null when
   * the app has no history of the epoch.
   */
  lastPosition(appId: string, epoch: string): number | null {
    if (epoch === this.current) return Number.POSITIVE_INFINITY
    const histories = this.#byApp.get(appId) ?? []
    const index = histories.findIndex((each) => each.epoch === epoch)
    const next = histories[index + 1]
    return index === -1 || next === undefined ? null : next.from - 1
  }
}
