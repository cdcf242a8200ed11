import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  type CommitScope,
  confirmRefusal,
  type Freshness,
  InvalidatedCache,
} from './invalidated-cache.js'

interface Value {
  readonly version: number
}

/** A source whose answers are given by hand, in any order. */
class Source {
  readonly #pending: ((value: Value | null) => void)[] = []
  reads = 0

  readonly read = (): Promise<Value | null> => {
    this.reads++
    return new Promise((resolve) => this.#pending.push(resolve))
  }

  answer(value: Value | null): void {
    const [resolve] = this.#pending.splice(0, 1)
    if (!resolve) throw new Error('nobody reads')
    resolve(value)
  }
}

/** A transaction that is committed at once. */
const tx: CommitScope = { afterCommit: (run) => run() }

let cache: InvalidatedCache<string, Value>
let source: Source
let nowMs: number

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  nowMs = 1_000_000
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  cache = new InvalidatedCache({
    name: 'values',
    maxEntries: 2,
    maxAgeMs: 1000,
    tables: {},
    keyOf: (key) => key,
  })
  source = new Source()
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

function passTime(ms: number): void {
  nowMs += ms
  // The cache keeps the time it read for as long as a timer runs.
  vi.advanceTimersByTime(ms)
}

async function loadNow(key: string, value: Value | null): Promise<Value | null> {
  const loading = cache.load(key, source.read)
  source.answer(value)
  return loading
}

describe('InvalidatedCache', () => {
  it('caches a value that is read without waiting, but not its absence', async () => {
    const read = vi.fn((): Value | null => ({ version: 1 }))
    expect(await cache.load('a', read)).toEqual({ version: 1 })
    expect(await cache.load('a', read)).toEqual({ version: 1 })
    expect(read).toHaveBeenCalledOnce()
    cache.forget(tx, 'a')
    read.mockReturnValue(null)
    expect(await cache.load('a', read)).toBeNull()
    expect(await cache.load('a', read)).toBeNull()
    expect(read).toHaveBeenCalledTimes(3)
  })

  it('reads a value once', async () => {
    expect(cache.get('a')).toBeUndefined()
    expect(await loadNow('a', { version: 1 })).toEqual({ version: 1 })
    expect(cache.get('a')).toEqual({ version: 1 })
    expect(await cache.load('a', source.read)).toEqual({ version: 1 })
    expect(source.reads).toBe(1)
  })

  it('lets simultaneous callers share one read', async () => {
    const loads = [
      cache.load('a', source.read),
      cache.load('a', source.read),
      cache.load('a', source.read),
    ]
    source.answer({ version: 1 })
    expect(await Promise.all(loads)).toEqual([{ version: 1 }, { version: 1 }, { version: 1 }])
    expect(source.reads).toBe(1)
  })

  it('keeps the values of different keys apart', async () => {
    await loadNow('a', { version: 1 })
    await loadNow('b', { version: 2 })
    expect([cache.get('a'), cache.get('b')]).toEqual([{ version: 1 }, { version: 2 }])
  })

  it('keeps a value for a minute at most', async () => {
    await loadNow('a', { version: 1 })
    passTime(59_000)
    expect(cache.get('a')).toEqual({ version: 1 })
    passTime(1_001)
    expect(cache.get('a')).toBeUndefined()
  })

  it('never caches absence', async () => {
    expect(await loadNow('a', null)).toBeNull()
    expect(await loadNow('a', { version: 1 })).toEqual({ version: 1 })
  })

  it('caches no failed read, and fails all callers that wait for it', async () => {
    const failing = () => Promise.reject(new Error('no database'))
    await expect(cache.load('a', failing)).rejects.toThrow('no database')
    expect(await loadNow('a', { version: 1 })).toEqual({ version: 1 })
  })

  it('drops a value with the commit of its change, and reports the cache', async () => {
    await loadNow('a', { version: 1 })
    const open: { run: () => void; cache: string }[] = []
    cache.forget({ afterCommit: (run, cache) => void open.push({ run, cache }) }, 'a')
    expect(cache.get('a')).toEqual({ version: 1 })
    expect(open.map(({ cache }) => cache)).toEqual(['values'])
    for (const { run } of open) run()
    expect(cache.get('a')).toBeUndefined()
  })

  it('caches no read during which the value was invalidated, since it may be older than the change', async () => {
    const before = cache.load('a', source.read)
    cache.forget(tx, 'a')
    const after = cache.load('a', source.read)
    source.answer({ version: 1 })
    expect(await before).toEqual({ version: 1 })
    expect(cache.get('a')).toBeUndefined()
    source.answer({ version: 2 })
    expect(await after).toEqual({ version: 2 })
    expect(cache.get('a')).toEqual({ version: 2 })
  })

  it('is bounded: drops the least recently used value', async () => {
    await loadNow('a', { version: 1 })
    await loadNow('b', { version: 2 })
    cache.get('a')
    await loadNow('c', { version: 3 })
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([
      { version: 1 },
      undefined,
      { version: 3 },
    ])
  })
})

describe('InvalidatedCache of values that other processes change too', () => {
  beforeEach(() => {
    cache = new InvalidatedCache(
      { name: 'values', maxEntries: 2, maxAgeMs: 1000, tables: {}, keyOf: (key) => key },
      undefined,
      { isShared: true },
    )
  })

  const current = (key: string) => cache.load(key, source.read, 'current')

  it('reads again once a value is too old', async () => {
    await loadNow('a', { version: 1 })
    passTime(900)
    expect(cache.get('a')).toEqual({ version: 1 })
    passTime(101)
    expect(cache.get('a')).toBeUndefined()
    expect(await loadNow('a', { version: 2 })).toEqual({ version: 2 })
  })

  it('counts the age from the begin of the read, however long that takes', async () => {
    const loading = cache.load('a', source.read)
    passTime(900)
    source.answer({ version: 1 })
    expect(await loading).toEqual({ version: 1 })
    expect(cache.get('a')).toEqual({ version: 1 })
    passTime(101)
    expect(cache.get('a')).toBeUndefined()
  })

  it('reads a cached value again when it has to be current, and caches that', async () => {
    await loadNow('a', { version: 1 })
    const reading = current('a')
    source.answer({ version: 2 })
    expect(await reading).toEqual({ version: 2 })
    expect(await cache.load('a', source.read)).toEqual({ version: 2 })
    expect(source.reads).toBe(2)
  })

  it('lets current reads during another one share the next one', async () => {
    const first = cache.load('a', source.read)
    const later = Array.from({ length: 1_000 }, () => current('a'))
    source.answer({ version: 1 })
    expect(await first).toEqual({ version: 1 })
    await vi.waitFor(() => source.answer({ version: 2 }))
    expect(new Set(await Promise.all(later))).toEqual(new Set([{ version: 2 }]))
    expect(source.reads).toBe(2)
  })

  it('does not share the absence that a read before found', async () => {
    const first = cache.load('a', source.read)
    const second = cache.load('a', source.read)
    source.answer(null)
    expect(await first).toBeNull()
    await vi.waitFor(() => source.answer({ version: 1 }))
    expect(await second).toEqual({ version: 1 })
  })

  it('reads again after a failed read', async () => {
    const failing = cache.load('a', () => Promise.reject(new Error('no database')))
    const next = current('a')
    await expect(failing).rejects.toThrow('no database')
    await vi.waitFor(() => source.answer({ version: 1 }))
    expect(await next).toEqual({ version: 1 })
  })
})

describe('confirmRefusal', () => {
  it('decides a refusal again by current values, and nothing else', async () => {
    const isRefusal = (decision: string) => decision === 'refused'
    const asked: string[] = []
    const decide = (answers: Record<Freshness, string>) => async (freshness: Freshness) => {
      asked.push(freshness)
      return answers[freshness]
    }
    expect(await confirmRefusal(decide({ cached: 'ok', current: 'refused' }), isRefusal)).toBe('ok')
    expect(await confirmRefusal(decide({ cached: 'refused', current: 'ok' }), isRefusal)).toBe('ok')
    expect(asked).toEqual(['cached', 'cached', 'current'])
  })
})
