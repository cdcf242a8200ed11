import { describe, expect, it } from 'vitest'
import { type AppOutbox, pageAfter } from './outbox-page.js'
import type { OutboxRow } from './outbox-store.js'

/** An outbox that changes before its reads. */
class ChangingOutbox implements AppOutbox {
  readonly #rows: OutboxRow[] = []
  readonly reads: string[] = []
  purgedUpTo = 0

  /** @param changes one for each read, in their order */
  constructor(private readonly changes: readonly ((outbox: ChangingOutbox) => void)[] = []) {}

  get last(): number {
    return this.#rows.length
  }

  commit(): void {
    const position = this.last + 1
    const createdAt = 1_000 + position
    this.#rows.push({ position, kind: 'user.info_updated', payload: '{}', createdAt })
  }

  purge(): void {
    this.purgedUpTo = this.last
  }

  head(): number {
    this.#beginRead('head')
    return this.last
  }

  listAfter(after: number, limit: number): OutboxRow[] {
    this.#beginRead('rows')
    return this.#rows.slice(Math.max(after, this.purgedUpTo)).slice(0, limit)
  }

  #beginRead(name: string): void {
    this.changes[this.reads.length]?.(this)
    this.reads.push(name)
  }
}

function outboxOf({ rows, purged = 0 }: { readonly rows: number; readonly purged?: number }) {
  const outbox = new ChangingOutbox()
  for (let row = 0; row < rows; row++) outbox.commit()
  outbox.purgedUpTo = purged
  return outbox
}

const positionsOf = (rows: readonly OutboxRow[]) => rows.map(({ position }) => position)

describe('a page of the outbox', () => {
  it('has the rows after the position, at most the limit, with one read', async () => {
    const outbox = outboxOf({ rows: 5 })
    const { rows, missed } = await pageAfter(outbox, 1, 3)
    expect([positionsOf(rows), missed]).toEqual([[2, 3, 4], null])
    expect(outbox.reads).toEqual(['rows'])
  })

  it('has neither rows nor missed ones at the end', async () => {
    for (const rows of [0, 2])
      expect(await pageAfter(outboxOf({ rows, purged: rows }), rows, 10)).toEqual({
        rows: [],
        missed: null,
      })
  })

  it('names the rows that were purged before its own, with the time of the first row after them', async () => {
    const { rows, missed } = await pageAfter(outboxOf({ rows: 5, purged: 3 }), 1, 10)
    expect(positionsOf(rows)).toEqual([4, 5])
    expect(missed).toEqual({ first: 2, last: 3, until: 1_004 })
  })

  it('names the rows that were purged when none is left', async () => {
    expect(await pageAfter(outboxOf({ rows: 4, purged: 4 }), 1, 10)).toEqual({
      rows: [],
      missed: { first: 2, last: 4, until: 0 },
    })
  })

  it('reads no head when the caller knows a committed position', async () => {
    const outbox = outboxOf({ rows: 4, purged: 4 })
    expect(await pageAfter(outbox, 1, 10, 3)).toEqual({
      rows: [],
      missed: { first: 2, last: 3, until: 0 },
    })
    expect(await pageAfter(outbox, 4, 10, 4)).toEqual({ rows: [], missed: null })
    expect(outbox.reads).toEqual(['rows', 'rows'])
  })

  it('never names a row as missed that is kept, whatever is committed and purged between its reads', async () => {
    const nothing = () => {}
    const commit = (outbox: ChangingOutbox) => outbox.commit()
    const purge = (outbox: ChangingOutbox) => outbox.purge()
    const both = (outbox: ChangingOutbox) => {
      outbox.commit()
      outbox.purge()
      outbox.commit()
    }
    const changes = [nothing, commit, purge, both]
    for (const first of changes)
      for (const second of changes)
        for (const third of changes) {
          const outbox = new ChangingOutbox([first, second, third])
          const { rows, missed } = await pageAfter(outbox, 0, 10)
          const reached = rows.at(-1)?.position ?? missed?.last ?? 0
          const expected = Array.from({ length: reached }, (_, index) => index + 1)
          const missedTo = missed?.last ?? 0
          expect([...expected.slice(0, missedTo), ...positionsOf(rows)]).toEqual(expected)
          expect(missedTo).toBeLessThanOrEqual(outbox.purgedUpTo)
        }
  })
})
