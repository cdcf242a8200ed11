import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  firstIdAt,
  IdGenerator,
  type IdReservation,
  IdsRunOut,
  idSlots,
  importedId,
  importedIdsPerTick,
  type Reserve,
  tickAt,
  timestampOf,
} from './ids.js'

const startMs = Date.UTC(2026, 0, 1)

/**
 * The table of slots as the database keeps it: it outlives the generators, and so does everything
 * that was ever reserved in it.
 */
class SlotTable {
  readonly #slots: { owner: number; until: number }[]
  readonly #ticks: number
  #owners = 0
  #isDown = false

  constructor(options: { readonly slots: number; readonly ticks: number }) {
    this.#slots = Array.from({ length: options.slots }, () => ({ owner: 0, until: 0 }))
    this.#ticks = options.ticks
  }

  /** What a node that starts now reserves with. */
  newNode(): Reserve {
    const owner = ++this.#owners
    return async (current, wantedTick) => {
      await Promise.resolve()
      if (this.#isDown) throw new Error('the database is down')
      return this.#keep(owner, current, wantedTick) ?? this.#takeOver(owner, wantedTick)
    }
  }

  /** Loses what was reserved since a copy, and the copy's nodes remain. */
  copy(): () => void {
    const slots = structuredClone(this.#slots)
    return () => this.#slots.splice(0, slots.length, ...structuredClone(slots))
  }

  setDown(isDown: boolean): void {
    this.#isDown = isDown
  }

  #keep(owner: number, current: IdReservation | null, wantedTick: number): IdReservation | null {
    const slot = current && this.#slots[current.slot]
    if (!slot || slot.owner !== owner) return null
    slot.until = wantedTick + this.#ticks
    return { slot: current.slot, from: current.from, until: slot.until }
  }

  #takeOver(owner: number, wantedTick: number): IdReservation {
    const until = Math.min(...this.#slots.map((slot) => slot.until))
    const slot = this.#slots.findIndex((each) => each.until === until)
    const from = Math.max(wantedTick, until)
    this.#slots[slot] = { owner, until: from + this.#ticks }
    return { slot, from, until: from + this.#ticks }
  }
}

interface SimulatedNode {
  clockMs: number
  readonly generator: IdGenerator
  readonly reserve: Reserve
  last: number
}

/** Several nodes on one table, each with a clock of its own. */
class Nodes {
  readonly #table: SlotTable
  readonly #nodes: SimulatedNode[] = []
  readonly issued = new Set<number>()
  #copy: () => void

  constructor(count: number, options: { readonly slots: number; readonly ticks: number }) {
    this.#table = new SlotTable(options)
    this.#copy = this.#table.copy()
    for (let index = 0; index < count; index++) this.start(index, startMs)
  }

  /** The node that ran there before is gone without notice. */
  start(index: number, clockMs: number): void {
    const clock = { clockMs }
    const reserve = this.#table.newNode()
    const generator = new IdGenerator(reserve, () => clock.clockMs)
    const node: SimulatedNode = Object.assign(clock, { generator, reserve, last: 0 })
    this.#nodes[index] = node
  }

  crash(index: number): void {
    this.start(index, this.#at(index).clockMs)
  }

  moveClock(index: number, ms: number): void {
    this.#at(index).clockMs += ms
  }

  async issue(index: number, count: number): Promise<void> {
    const { generator } = this.#at(index)
    for (let each = 0; each < count; each++) this.#keep(index, await generator.next())
  }

  async issueAtOnce(index: number, count: number): Promise<void> {
    const { generator } = this.#at(index)
    for (const id of await Promise.all(Array.from({ length: count }, () => generator.next())))
      this.#keep(index, id)
  }

  async issueBatch(index: number, count: number, after: number): Promise<void> {
    const { generator } = this.#at(index)
    for (const id of await generator.take(count, after)) {
      if (id <= after) throw new Error(`${id} is not above ${after}`)
      this.#keep(index, id)
    }
  }

  async issueWithoutDatabase(index: number): Promise<void> {
    this.#table.setDown(true)
    // What is reserved may be used up; more there is not.
    await this.issue(index, 1).catch((error: Error) =>
      expect(error.message).toBe('the database is down'),
    )
    this.#table.setDown(false)
  }

  /** The database begins to lag behind; the next failover goes back to here. */
  copyTable(): void {
    this.#copy = this.#table.copy()
  }

  /** All nodes lose their connections. IDs that the lost history has may come again. */
  async failOver(isReservedByGate: boolean): Promise<void> {
    this.#copy()
    this.issued.clear()
    for (const { generator, reserve } of this.#nodes) {
      if (isReservedByGate) await generator.reserveAnew(reserve)
      else generator.giveUp()
    }
  }

  get newest(): number {
    return Math.max(0, ...this.#nodes.map(({ last }) => last))
  }

  #at(index: number) {
    const node = this.#nodes[index]
    if (!node) throw new Error(`no node ${index}`)
    return node
  }

  #keep(index: number, id: number): void {
    const node = this.#at(index)
    // Plain comparisons: there are a great many IDs.
    if (!Number.isSafeInteger(id) || id <= 0)
      throw new Error(`${id} is no positive integer below 2^53`)
    if (id <= node.last) throw new Error(`${id} comes after ${node.last}`)
    if (timestampOf(id) < node.clockMs) throw new Error(`${id} is older than the clock`)
    if (this.issued.has(id)) throw new Error(`${id} was issued twice`)
    this.issued.add(id)
    node.last = id
  }
}

const nodeCount = 3
const node = fc.nat(nodeCount - 1)
const count = fc.integer({ min: 1, max: 300 })
const anHourMs = 3_600_000

type Step = (nodes: Nodes) => Promise<void> | void

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(node, count).map(
      ([index, many]): Step =>
        (nodes) =>
          nodes.issue(index, many),
    ),
  },
  // A burst that one tick can still serve, as the writer's batches are made sure of beforehand.
  {
    weight: 2,
    arbitrary: fc.tuple(node, fc.integer({ min: 2, max: 64 })).map(
      ([index, many]): Step =>
        (nodes) =>
          nodes.issueAtOnce(index, many),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(node, count, fc.nat(anHourMs * 4096)).map(
      ([index, many, ahead]): Step =>
        (nodes) =>
          nodes.issueBatch(index, many, nodes.newest + ahead),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(node, fc.integer({ min: 0, max: 20 })).map(
      ([index, ms]): Step =>
        (nodes) =>
          nodes.moveClock(index, ms),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(node, fc.integer({ min: -anHourMs, max: anHourMs })).map(
      ([index, ms]): Step =>
        (nodes) =>
          nodes.moveClock(index, ms),
    ),
  },
  {
    weight: 2,
    arbitrary: node.map(
      (index): Step =>
        (nodes) =>
          nodes.crash(index),
    ),
  },
  {
    weight: 1,
    arbitrary: node.map(
      (index): Step =>
        (nodes) =>
          nodes.issueWithoutDatabase(index),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((nodes) => nodes.copyTable()) },
  {
    weight: 1,
    arbitrary: fc.boolean().map(
      (isReservedByGate): Step =>
        (nodes) =>
          nodes.failOver(isReservedByGate),
    ),
  },
)

describe('IDs of several nodes', () => {
  for (const slots of [1, 2, 8]) {
    it(`grow and never repeat whatever clocks, crashes and failovers do, with ${slots} slots`, async () => {
      const steps = fc.array(step, { minLength: 1, maxLength: 60 })
      await fc.assert(
        fc.asyncProperty(steps, fc.integer({ min: 8, max: 100 }), async (history, ticks) => {
          const nodes = new Nodes(nodeCount, { slots, ticks })
          for (const each of history) await each(nodes)
          for (let index = 0; index < nodeCount; index++) await nodes.issue(index, 1)
          expect(nodes.issued.size).toBeGreaterThanOrEqual(nodeCount)
        }),
        { numRuns: 500 },
      )
    })
  }
})

describe('an ID generator', () => {
  const table = () => new SlotTable({ slots: 64, ticks: 60_000 })

  it('gives IDs that tell the time and lie in the range of their tick', async () => {
    let now = startMs - 1000
    const generator = new IdGenerator(table().newNode(), () => now)
    await generator.next()
    now = startMs
    const id = await generator.next()
    expect(timestampOf(id)).toBe(startMs)
    expect(id).toBeGreaterThanOrEqual(firstIdAt(startMs))
    expect(id).toBeLessThan(firstIdAt(startMs + 1))
    expect(timestampOf(firstIdAt(startMs))).toBe(startMs)
    expect(timestampOf(firstIdAt(startMs + 1) - 1)).toBe(startMs)
    expect(timestampOf(0)).toBe(0)
  })

  it('stays below 2^53 until 2084', async () => {
    const lastDay = Date.UTC(2084, 0, 1)
    const id = await new IdGenerator(table().newNode(), () => lastDay).next()
    expect(id).toBeLessThan(2 ** 53)
    expect(timestampOf(id)).toBeGreaterThanOrEqual(lastDay)
  })

  it('reserves IDs rarely, and in advance', async () => {
    const shared = table().newNode()
    let asked = 0
    let now = startMs
    const reserve: Reserve = (current, wantedTick) => {
      asked++
      return shared(current, wantedTick)
    }
    const generator = new IdGenerator(reserve, () => now)
    await generator.next()
    expect(asked).toBe(1)
    for (; now < startMs + 25_000; now += 1000) await generator.next()
    expect(asked).toBe(1)
    now = startMs + 40_000
    await generator.next()
    expect(asked).toBe(2)
  })

  it('continues after a failed reservation', async () => {
    const slots = table()
    const generator = new IdGenerator(slots.newNode(), () => startMs)
    slots.setDown(true)
    await expect(generator.next()).rejects.toThrow('the database is down')
    slots.setDown(false)
    expect(await generator.next()).toBeGreaterThan(0)
  })
})

describe('IDs of imported history', () => {
  const pastMs = Date.UTC(2019, 5, 1)

  it('tell the date and never repeat', () => {
    const ids = [pastMs, pastMs + 1].flatMap((ms) =>
      Array.from({ length: importedIdsPerTick }, (_, number) => importedId(ms, number)),
    )
    expect(new Set(ids).size).toBe(2 * importedIdsPerTick)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    for (const [index, id] of ids.entries())
      expect(timestampOf(id)).toBe(index < importedIdsPerTick ? pastMs : pastMs + 1)
    expect(importedId(pastMs, 0)).toBeGreaterThan(firstIdAt(pastMs))
    expect(importedId(pastMs, importedIdsPerTick - 1)).toBe(firstIdAt(pastMs + 1) - 1)
  })

  it('are issued by no node, in any slot, also not one whose clock is in the past', async () => {
    const imported = new Set(
      Array.from({ length: importedIdsPerTick }, (_, number) => importedId(pastMs, number)),
    )
    for (let slot = 0; slot < idSlots; slot++) {
      const reserve: Reserve = async () => ({ slot, from: 0, until: tickAt(pastMs) + 1_000 })
      const issued = await new IdGenerator(reserve, () => pastMs).take(3 * importedIdsPerTick)
      expect(issued.filter((id) => imported.has(id))).toEqual([])
    }
  })

  it('are below whatever nodes issue later', async () => {
    const generator = new IdGenerator(
      new SlotTable({ slots: idSlots, ticks: 60_000 }).newNode(),
      () => pastMs + 1,
    )
    expect(await generator.next()).toBeGreaterThan(importedId(pastMs, importedIdsPerTick - 1))
  })

  it('are refused where there are none', () => {
    const epochMs = Date.UTC(2015, 0, 1)
    expect(importedId(epochMs, 0)).toBeGreaterThan(0)
    for (const [ms, number] of [
      [epochMs - 1, 0],
      [pastMs, -1],
      [pastMs, importedIdsPerTick],
      [pastMs, 0.5],
      [pastMs + 0.5, 0],
      [Number.NaN, 0],
      [Date.UTC(2100, 0, 1), 0],
    ] as const)
      expect(() => importedId(ms, number), `${ms}, ${number}`).toThrow(RangeError)
  })
})

describe('IDs inside a transaction', () => {
  it('come from what is reserved, or not until that is renewed', async () => {
    let now = startMs
    const generator = new IdGenerator(
      new SlotTable({ slots: 2, ticks: 1_000 }).newNode(),
      () => now,
    )
    const issued: number[] = []
    for (const _ of ['at first', 'after an hour']) {
      let refusal: unknown
      try {
        generator.takeReserved(3)
      } catch (error) {
        refusal = error
      }
      expect(refusal).toBeInstanceOf(IdsRunOut)
      await (refusal as IdsRunOut).renewal
      issued.push(...generator.takeReserved(3))
      now += anHourMs
    }
    expect(issued).toEqual([...new Set(issued)].sort((a, b) => a - b))
    expect(issued.map((id) => Math.floor((timestampOf(id) - startMs) / anHourMs))).toEqual([
      0, 0, 0, 1, 1, 1,
    ])
  })
})
