import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Bus } from './bus.js'
import { type Carrier, maxTextBytes } from './carrier.js'
import { MemoryBus } from './memory-bus.js'
import type { BusLoss } from './outgoing.js'
import { SharedBus } from './shared-bus.js'

const times = { gatherMs: 1, probeMs: 20, firstPauseMs: 1, maxPauseMs: 5 }
/** Longer than a pause of a busy machine. */
const longSilenceMs = 3_000
/** For the case that waits for the end of a silence. */
const shortSilenceMs = 200

/** Brings every text to all that are connected, until the test changes it. */
class TestCarrier implements Carrier {
  readonly texts: string[] = []
  readonly #open = new Set<{ received(text: string): void; lost(): void }>()
  isRefusing = false
  opened = 0
  isMute = false
  failure: Error | null = null

  async open(events: { received(text: string): void; lost(): void }) {
    if (this.isRefusing) throw new Error('refused')
    this.opened++
    this.#open.add(events)
    return {
      send: async (texts: readonly string[]) => {
        if (this.failure) throw this.failure
        for (const text of texts) this.deliver(text)
      },
      close: () => void this.#open.delete(events),
    }
  }

  deliver(text: string): void {
    this.texts.push(text)
    if (this.isMute) return
    for (const each of [...this.#open]) each.received(text)
  }

  cut(): void {
    const open = [...this.#open]
    this.#open.clear()
    for (const each of open) each.lost()
  }
}

interface Node {
  readonly bus: Bus
  readonly losses: BusLoss[]
  /** The topics of listeners that failed. */
  readonly failures: string[]
}

async function nodesOn(carrier: Carrier, count: number, silentMs = longSilenceMs): Promise<Node[]> {
  const nodes = Array.from({ length: count }, () => {
    const losses: BusLoss[] = []
    const failures: string[] = []
    const bus = new SharedBus({
      carrier,
      times: { ...times, silentMs },
      listenerFailed: (topic) => failures.push(topic),
      observer: {
        sent() {},
        received() {},
        lost: (reason) => losses.push(reason),
        connected() {},
        disconnected() {},
      },
    })
    onTestFinished(() => bus.stop())
    return { bus, losses, failures }
  })
  for (const { bus } of nodes) await bus.start()
  return nodes
}

function appsHeard(bus: Bus): string[] {
  const apps: string[] = []
  bus.subscribe('outbox.appended', ({ appId }) => apps.push(appId))
  return apps
}

const buses: readonly (readonly [string, () => Promise<Bus>])[] = [
  ['of one node', async () => new MemoryBus()],
  ['of several nodes', async () => ((await nodesOn(new TestCarrier(), 2))[0] as Node).bus],
]

describe.each(buses)('a bus %s', (_, create) => {
  it('calls the listeners of its node before publish returns, and none that have left', async () => {
    const bus = await create()
    const heard: string[] = []
    const leave = bus.subscribe('outbox.appended', ({ appId }) => heard.push(appId))
    bus.publish('outbox.appended', { appId: 'shop' })
    expect(heard).toEqual(['shop'])
    leave()
    bus.publish('outbox.appended', { appId: 'shop' })
    expect(heard).toEqual(['shop'])
  })
})

describe('several nodes', () => {
  it('hear one another once, in order; equal messages that wait together leave once', async () => {
    const [first, second] = (await nodesOn(new TestCarrier(), 2)) as [Node, Node]
    const own = appsHeard(first.bus)
    const others = appsHeard(second.bus)
    for (const appId of ['a', 'a', 'b', 'a']) first.bus.publish('outbox.appended', { appId })
    await vi.waitFor(() => expect(others).toEqual(['a', 'b']))
    expect(own).toEqual(['a', 'a', 'b', 'a'])
  })

  it('hear once how far the outbox of an app reaches', async () => {
    const [first, second] = (await nodesOn(new TestCarrier(), 2)) as [Node, Node]
    const heard: unknown[] = []
    second.bus.subscribe('outbox.appended', (message) => heard.push(message))
    for (const position of [7, 9, 8]) first.bus.publish('outbox.appended', { appId: 'a', position })
    for (const position of [3, undefined, 4])
      first.bus.publish('outbox.appended', { appId: 'b', position })
    await vi.waitFor(() => expect(heard).toEqual([{ appId: 'a', position: 9 }, { appId: 'b' }]))
  })

  it('a node that is alone sends nothing until another one starts', async () => {
    const carrier = new TestCarrier()
    const [first] = (await nodesOn(carrier, 1, shortSilenceMs)) as [Node]
    const sent = () => carrier.texts.filter((text) => text.includes('outbox.appended')).length
    await vi.waitFor(() => {
      const before = sent()
      first.bus.publish('outbox.appended', { appId: 'alone' })
      return pause(5).then(() => expect(sent()).toBe(before))
    }, 5_000)
    const [second] = (await nodesOn(carrier, 1, shortSilenceMs)) as [Node]
    const heard = appsHeard(second.bus)
    first.bus.publish('outbox.appended', { appId: 'shop' })
    await vi.waitFor(() => expect(heard).toEqual(['shop']))
  })

  it('messages of any length arrive whole, in texts that the carrier takes', async () => {
    const carrier = new TestCarrier()
    const [first, second] = (await nodesOn(carrier, 2)) as [Node, Node]
    const heard: string[] = []
    second.bus.subscribe('cache.invalidated', ({ key }) => heard.push(key))
    const keys = [10, 7_000, 7_400, 20_000, 100_000].map((length) => '😀'.repeat(length / 4))
    for (const key of keys) first.bus.publish('cache.invalidated', { cache: 'users', key })
    await vi.waitFor(() => expect(new Set(heard)).toEqual(new Set(keys)))
    for (const text of carrier.texts) expect(Buffer.byteLength(text)).toBeLessThan(maxTextBytes)
    first.bus.publish('cache.invalidated', { cache: 'users', key: 'x'.repeat(600_000) })
    expect(first.losses).toEqual(['too_long'])
  })

  it('a part that is lost loses its message, and no other', async () => {
    const carrier = new TestCarrier()
    const [first, second] = (await nodesOn(carrier, 2)) as [Node, Node]
    const heard: string[] = []
    second.bus.subscribe('cache.invalidated', ({ key }) => heard.push(key[0] as string))
    const deliver = carrier.deliver.bind(carrier)
    carrier.deliver = (text) => {
      if (!text.includes('"part":[0,1,')) deliver(text)
    }
    for (const letter of ['a', 'b'])
      first.bus.publish('cache.invalidated', { cache: 'users', key: letter.repeat(20_000) })
    await vi.waitFor(() => expect(heard).toEqual(['b']))
  })

  it('nonsense of a stranger is counted and has no effect', async () => {
    const carrier = new TestCarrier()
    const [first, second] = (await nodesOn(carrier, 2)) as [Node, Node]
    const heard = appsHeard(second.bus)
    const nonsense = [
      '',
      'hello',
      '{}',
      'null',
      '{"from":1,"messages":[]}',
      '{"from":"x","messages":7}',
      '{"from":"x","messages":[["outbox.appended",null]]}',
      '{"from":"x","part":[0,5,3],"base64":"aa"}',
      '{"from":"x","part":[0,0,1000000000],"base64":"aa"}',
      '{"from":"x","part":[1,0,1],"base64":"%%%"}',
      '{"from":"x","messages":[["event.transient",{"appId":"shop","receivers":{"userIds":[1]},"event":{"kind":"\\"","data":{}}}]]}',
      '{"from":"x","messages":[["event.transient",{"appId":"shop","receivers":{"userIds":[1]},"event":{"kind":"message.stored","data":{}}}]]}',
      '{"from":"x","messages":[["no.such_topic",{}]]}',
      '{"from":"x","messages":[["__proto__",{}]]}',
    ]
    for (const text of nonsense) carrier.deliver(text)
    first.bus.publish('outbox.appended', { appId: 'shop' })
    await vi.waitFor(() => expect(heard).toEqual(['shop']))
    expect(second.losses).toEqual(nonsense.map(() => 'not_understood'))
  })

  it('events that are not stored give way above their share of the traffic, hints do not', async () => {
    const [first] = (await nodesOn(new TestCarrier(), 1)) as [Node]
    for (let count = 0; count < 1_000; count++) {
      first.bus.publish('event.transient', {
        appId: 'shop',
        receivers: { userIds: [count] },
        event: { kind: 'message.transient', data: { content: 'x'.repeat(1_000) } } as never,
      })
      first.bus.publish('outbox.appended', { appId: `app${count}` })
    }
    expect(first.losses.length).toBeGreaterThan(500)
    expect(new Set(first.losses)).toEqual(new Set(['over_budget']))
  })

  it('typing gives way before messages that are not stored', async () => {
    const [first] = (await nodesOn(new TestCarrier(), 1)) as [Node]
    const publish = (kind: string, length: number) =>
      first.bus.publish('event.transient', {
        appId: 'shop',
        receivers: { userIds: [1] },
        event: { kind, data: { content: 'x'.repeat(length) } } as never,
      })
    publish('message.transient', 110_000)
    publish('typing', 100)
    expect(first.losses).toEqual(['over_budget'])
    publish('message.transient', 50_000)
    expect(first.losses).toEqual(['over_budget'])
  })

  it('exact user IDs and every character arrive', async () => {
    const [first, second] = (await nodesOn(new TestCarrier(), 2)) as [Node, Node]
    const heard: unknown[] = []
    second.bus.subscribe('event.transient', (message) => heard.push(message))
    const message = {
      appId: 'shop',
      receivers: { userIds: [2n ** 61n + 1n, 7] },
      event: { kind: 'message.transient', data: { content: '"\0\u2028\ud800語' } } as never,
    }
    first.bus.publish('event.transient', message)
    await vi.waitFor(() => expect(heard).toEqual([message]))
  })

  it('a listener that fails keeps a message neither from the others nor from its publisher', async () => {
    const [first, second] = (await nodesOn(new TestCarrier(), 2)) as [Node, Node]
    for (const { bus } of [first, second])
      bus.subscribe('outbox.appended', () => {
        throw new Error('fault')
      })
    const heard = [appsHeard(first.bus), appsHeard(second.bus)]
    first.bus.publish('outbox.appended', { appId: 'shop' })
    await vi.waitFor(() => expect(heard).toEqual([['shop'], ['shop']]))
    expect([...first.failures, ...second.failures]).toEqual(['outbox.appended', 'outbox.appended'])
  })

  it('a connection on which nothing comes back does not count', async () => {
    const carrier = new TestCarrier()
    carrier.isMute = true
    const [first] = (await nodesOn(carrier, 1)) as [Node]
    await pause(30)
    expect(first.bus.isConnected).toBe(false)
    carrier.isMute = false
    await vi.waitFor(() => expect(first.bus.isConnected).toBe(true))
  })

  it('a failure of the carrier is counted, and the next messages arrive', async () => {
    const carrier = new TestCarrier()
    const [first, second] = (await nodesOn(carrier, 2)) as [Node, Node]
    const heard = appsHeard(second.bus)
    carrier.failure = new Error('too many notifications in the NOTIFY queue')
    first.bus.publish('outbox.appended', { appId: 'lost' })
    await vi.waitFor(() => expect(first.losses).toContain('failed'))
    carrier.failure = null
    first.bus.publish('outbox.appended', { appId: 'found' })
    await vi.waitFor(() => expect(heard).toEqual(['found']))
  })

  it('while nothing can be sent it keeps its connection for a while, which counts when that is over', async () => {
    const carrier = new TestCarrier()
    carrier.failure = new Error('too many notifications in the NOTIFY queue')
    const [first] = (await nodesOn(carrier, 1)) as [Node]
    await pause(100)
    expect([carrier.opened, first.bus.isConnected]).toEqual([1, false])
    carrier.failure = null
    await vi.waitFor(() => expect(first.bus.isConnected).toBe(true))
  })

  it.each([
    ['ends', longSilenceMs, (carrier: TestCarrier) => carrier.cut()],
    [
      'brings nothing any more',
      shortSilenceMs,
      (carrier: TestCarrier) => {
        carrier.isMute = true
      },
    ],
  ])(
    'a connection that %s is made again, and everybody is told',
    async (_, silentMs, interrupt) => {
      const carrier = new TestCarrier()
      const [first, second] = (await nodesOn(carrier, 2, silentMs)) as [Node, Node]
      const told = vi.fn()
      second.bus.onReconnected(told)
      carrier.isRefusing = true
      interrupt(carrier)
      await vi.waitFor(() => expect(second.bus.isConnected).toBe(false))
      second.bus.publish('outbox.appended', { appId: 'shop' })
      expect(second.losses).toContain('unconnected')
      expect(told).not.toHaveBeenCalled()
      carrier.isMute = false
      carrier.isRefusing = false
      await vi.waitFor(() => expect(told).toHaveBeenCalled())
      const heard = appsHeard(second.bus)
      await vi.waitFor(() => expect(first.bus.isConnected).toBe(true))
      first.bus.publish('outbox.appended', { appId: 'shop' })
      await vi.waitFor(() => expect(heard).toEqual(['shop']))
    },
  )

  it('a node that was halted looks for what it has missed, also when its own message comes first', async () => {
    const carrier = new TestCarrier()
    const [first] = (await nodesOn(carrier, 1, shortSilenceMs)) as [Node]
    await vi.waitFor(() => expect(first.bus.isConnected).toBe(true))
    const told = vi.fn()
    first.bus.onReconnected(told)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * shortSilenceMs)
    carrier.deliver(carrier.texts[0] as string)
    await vi.waitFor(() => expect(told).toHaveBeenCalled())
  })

  it('a bus that cannot connect at its start connects later; one that stops sends what waits', async () => {
    const carrier = new TestCarrier()
    const [first] = (await nodesOn(carrier, 1)) as [Node]
    const heard = appsHeard(first.bus)
    carrier.isRefusing = true
    const [second] = (await nodesOn(carrier, 1)) as [Node]
    expect(second.bus.isConnected).toBe(false)
    carrier.isRefusing = false
    await vi.waitFor(() => expect(second.bus.isConnected).toBe(true))
    second.bus.publish('outbox.appended', { appId: 'shop' })
    await second.bus.stop()
    await pause(0)
    expect(heard).toEqual(['shop'])
  })
})
