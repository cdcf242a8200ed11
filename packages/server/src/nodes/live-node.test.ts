import { beforeEach, describe, expect, it } from 'vitest'
import { LiveNode } from './live-node.js'

const facts = { version: '1', schema: 1, host: 'test', pool: 1, settings: {} }

describe('LiveNode', () => {
  /** The clocks of the process; that of the database is the first one. */
  let time: number
  let wallAheadMs: number
  /** The time that the machine stood still, and the database did not. */
  let pausedMs: number
  let events: string[]
  let row: { id: string; lease: number; drain: boolean } | null
  /** Replaces a renewal. */
  let outage: (() => Promise<never>) | null
  let renewals: number
  let node: LiveNode

  beforeEach(async () => {
    time = 1_000_000
    wallAheadMs = 0
    pausedMs = 0
    events = []
    row = null
    outage = null
    renewals = 0
    let leases = 0
    node = new LiveNode({
      id: 'a',
      facts,
      renewId: () => 'b',
      now: () => time,
      clock: { now: () => time + wallAheadMs },
      store: {
        async take(id) {
          row = { id, lease: ++leases, drain: false }
          return leases
        },
        async renew({ nodeId, lease }) {
          renewals++
          await outage?.()
          if (row?.id !== nodeId || row.lease !== lease) return null
          return { now: time + pausedMs, isDraining: row.drain }
        },
        listFigures: async () => [],
        leaseOf: async () => row?.lease ?? null,
        async endSilent() {
          events.push('looked for silent nodes')
          return []
        },
        async leave() {
          row = null
        },
      },
      observer: {
        clockDiffers: (aheadMs) => events.push(`clock ${aheadMs}`),
        ended: (id) => events.push(`ended ${id}`),
        lost: (reason) => events.push(`lost: ${reason}`),
        failed: () => events.push('failed'),
      },
    })
    await node.start()
    return () => node.stop()
  })

  /** Ticks each second. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      time += 1_000
      await node.tick()
    }
  }

  it('looks for no silent nodes for 15 s after its machine stood still', async () => {
    await pass(30)
    expect(events).toContain('looked for silent nodes')
    pausedMs = 60_000
    await pass(5)
    events = []
    await pass(14)
    expect(events.filter((event) => event.startsWith('looked'))).toEqual([])
    await pass(6)
    expect(events).toContain('looked for silent nodes')
  })

  it('gives a heartbeat each 5 s', async () => {
    renewals = 0
    await pass(60)
    expect(renewals).toBe(12)
    expect([node.isLive, node.lease]).toEqual([true, 1])
  })

  it('looks for silent nodes only after 15 s of heartbeats without a gap', async () => {
    await pass(14)
    expect(events).toEqual([])
    await pass(2)
    expect(events).not.toEqual([])
    outage = async () => {
      throw new Error('away')
    }
    await pass(5)
    outage = null
    events = []
    await pass(14)
    expect(events).toEqual([])
    await pass(6)
    expect(events).not.toEqual([])
  })

  it('a renewal that the database answers after a stop of 20 s: is a gap', async () => {
    await pass(20)
    events = []
    outage = async () => {
      time += 20_000
      events = []
      outage = null
      return undefined as never
    }
    await pass(5)
    expect([node.isLive, node.lease]).toEqual([false, 1])
    await pass(1)
    expect([node.isLive, node.lease]).toEqual([true, 1])
    await pass(13)
    expect(events).toEqual([])
    await pass(6)
    expect(events).not.toEqual([])
  })

  it('a process that stood still for 20 s: ends no other node before 15 s', async () => {
    await pass(20)
    time += 20_000
    events = []
    await pass(14)
    expect(events).toEqual([])
    await pass(6)
    expect(events).not.toEqual([])
  })

  it('is not live 13 s after the beginning of its last heartbeat, and again with the next one', async () => {
    await pass(5)
    outage = async () => {
      throw new Error('away')
    }
    await pass(12)
    expect(node.isLive).toBe(true)
    await pass(1)
    expect(node.isLive).toBe(false)
    outage = null
    await pass(1)
    expect([node.isLive, node.lease]).toEqual([true, 1])
  })

  it('a lease that was ended: is replaced by one with a new number, which listeners hear of', async () => {
    const leases: number[] = []
    node.onNewLease(() => leases.push(node.lease))
    row = null
    await pass(5)
    expect(events).toEqual(['lost: ended'])
    expect([node.id, node.isLive, leases]).toEqual(['a', true, [2]])
  })

  it('another process with its ID: leaves the ID to it', async () => {
    row = { id: 'a', lease: 9, drain: false }
    await pass(5)
    expect(events).toEqual(['lost: replaced'])
    expect([node.id, row.id]).toEqual(['b', 'b'])
  })

  it('a clock more than 1 s off: is told once, and from 5 s on the node is degraded', async () => {
    wallAheadMs = 900
    await pass(5)
    expect(events).toEqual([])
    wallAheadMs = -1_500
    await pass(15)
    expect(events.filter((each) => each.startsWith('clock'))).toEqual(['clock -1500'])
    expect(node.degraded).toEqual([])
    wallAheadMs = 5_500
    await pass(5)
    expect(node.degraded).toEqual(['clock'])
    wallAheadMs = 0
    await pass(5)
    expect(node.degraded).toEqual([])
  })

  it('hears with the heartbeat that it is to leave', async () => {
    if (row) row.drain = true
    await pass(5)
    expect(node.isDraining).toBe(true)
    await node.draining
    row = null
    await pass(5)
    expect([node.lease, node.isDraining], 'under its next lease too').toEqual([2, true])
  })
})
