import { beforeEach, describe, expect, it } from 'vitest'
import { LiveShares } from './live-shares.js'
import type { Share, ShareKind } from './shares.js'

/** Rows as nodes share them. */
class Table {
  readonly nodes = new Map<number, { isDraining: boolean }>()
  readonly holders = new Map<string, number>()
  isAway = false

  store() {
    const keyOf = ({ kind, name }: { kind: string; name: string }) => `${kind}/${name}`
    const reach = () => {
      if (this.isAway) throw new Error('away')
    }
    return {
      view: async () => {
        reach()
        return {
          nodes: [...this.nodes].map(([lease, { isDraining }]) => ({ lease, isDraining })),
          shares: [...this.holders].map(([key, lease]) => {
            const [kind = '', name = ''] = key.split('/')
            return { kind, name, lease }
          }),
        }
      },
      take: async (
        lease: number,
        wanted: readonly { kind: ShareKind; name: string }[],
        dead: readonly number[],
      ) => {
        reach()
        if (!this.nodes.has(lease)) return []
        const taken = wanted.filter((each) => {
          const holder = this.holders.get(keyOf(each))
          return holder === undefined || dead.includes(holder)
        })
        for (const each of taken) this.holders.set(keyOf(each), lease)
        return taken
      },
      release: async (lease: number, share?: { kind: string; name: string }) => {
        reach()
        for (const [key, holder] of this.holders)
          if (holder === lease && (!share || keyOf(share) === key)) this.holders.delete(key)
      },
    }
  }
}

const shardCount = 16

/** A node with all shards. */
class TestNode {
  isLive = true
  readonly shares: LiveShares
  readonly works: Share[]
  /** Ends of works that the test lets end. */
  readonly ends: (() => void)[] = []
  isSlow = false

  constructor(
    private readonly table: Table,
    public lease: number,
  ) {
    table.nodes.set(lease, { isDraining: false })
    const isDraining = () => this.isDraining
    const [isLive, leaseOf] = [() => this.isLive, () => this.lease]
    this.shares = new LiveShares({
      node: {
        get lease() {
          return leaseOf()
        },
        get isLive() {
          return isLive()
        },
        get isDraining() {
          return isDraining()
        },
      },
      store: table.store(),
      failed: () => {},
      giveBackMs: 0,
    })
    this.works = Array.from({ length: shardCount }, (_, name) =>
      this.shares.add('webhooks', `${name}`, () =>
        this.isSlow ? new Promise((end) => this.ends.push(end)) : Promise.resolve(),
      ),
    )
  }

  get isDraining(): boolean {
    return this.table.nodes.get(this.lease)?.isDraining ?? false
  }

  get held(): number {
    return this.works.filter(({ isHeld }) => isHeld).length
  }

  get own(): number {
    return this.works.filter(({ isOwn }) => isOwn).length
  }

  /** Looks, and waits for what it ends. */
  async poll(): Promise<void> {
    await this.shares.poll()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('LiveShares', () => {
  let table: Table
  beforeEach(() => {
    table = new Table()
  })

  const node = (lease: number) => new TestNode(table, lease)
  const pollAll = async (nodes: readonly TestNode[], times: number) => {
    for (let time = 0; time < times; time++) for (const each of nodes) await each.poll()
  }

  it('a node alone: holds everything', async () => {
    const only = node(1)
    expect(only.held).toBe(0)
    await only.poll()
    expect(only.held).toBe(shardCount)
  })

  it('several nodes: come to even parts, and each work has one node at every moment', async () => {
    const nodes = [node(1)]
    await nodes[0]?.poll()
    nodes.push(node(2), node(3))
    for (let time = 0; time < 14; time++) {
      await pollAll(nodes, 1)
      for (let work = 0; work < shardCount; work++)
        expect(nodes.filter((each) => each.works[work]?.isOwn).length).toBeLessThanOrEqual(1)
    }
    const held = nodes.map((each) => each.held)
    expect(held.reduce((sum, each) => sum + each)).toBe(shardCount)
    expect(Math.max(...held)).toBe(6)
  })

  it('the shares of a dead node: are taken by those that live', async () => {
    const [dead, first, second] = [node(1), node(2), node(3)]
    await pollAll([dead], 1)
    table.nodes.delete(dead.lease)
    await pollAll([first, second], 2)
    expect([first.held, second.held]).toEqual([8, 8])
  })

  it('a share that is given back: is free only when its work has ended', async () => {
    const [first, second] = [node(1), node(2)]
    table.nodes.delete(2)
    await first.poll()
    table.nodes.set(2, { isDraining: false })
    first.isSlow = true
    await pollAll([first, second], 3)
    expect([first.held, first.own, second.held]).toEqual([15, 16, 0])
    for (const end of first.ends.splice(0)) end()
    await pollAll([second], 2)
    expect([first.held, first.own, second.held]).toEqual([15, 15, 1])
  })

  it('a lease that is not certain: ends all work at once, also when the database is away', async () => {
    const only = node(1)
    await only.poll()
    table.isAway = true
    only.isLive = false
    only.isSlow = true
    expect(only.held).toBe(0)
    await only.poll()
    expect(only.ends).toHaveLength(shardCount)
    table.isAway = false
    only.isLive = true
    await only.poll()
    expect(only.held, 'what ran before has not ended').toBe(0)
    for (const end of only.ends.splice(0)) end()
    await only.poll()
    await only.poll()
    expect(only.held).toBe(shardCount)
  })

  it('a new lease: holds nothing of the old one, and takes what is free', async () => {
    const [first, second] = [node(1), node(2)]
    await pollAll([first, second], 2)
    table.nodes.delete(1)
    first.lease = 3
    table.nodes.set(3, { isDraining: false })
    expect([first.held, first.own]).toEqual([0, 0])
    await pollAll([first, second], 3)
    expect([first.held, second.held]).toEqual([8, 8])
  })

  it('a node that leaves: gives everything back at once, and takes nothing', async () => {
    const [first, second] = [node(1), node(2)]
    await pollAll([first, second], 2)
    table.nodes.set(1, { isDraining: true })
    await pollAll([first, second], 2)
    expect([first.held, second.held]).toEqual([0, 16])
  })

  it('the end of the service: frees what it held', async () => {
    const only = node(1)
    await only.poll()
    await only.shares.stop()
    expect([only.own, table.holders.size]).toEqual([0, 0])
  })
})
