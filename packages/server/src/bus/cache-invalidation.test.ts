import { describe, expect, it } from 'vitest'
import { type CommitScope, InvalidatedCache } from '../lib/invalidated-cache.js'
import type { Bus } from './bus.js'
import { cacheInvalidation } from './cache-invalidation.js'
import { MemoryBus } from './memory-bus.js'

interface Value {
  readonly version: number
}

/** A transaction that is committed at once. */
const tx: CommitScope = { afterCommit: (run) => run() }

class InterruptedBus extends MemoryBus {
  #listeners: (() => void)[] = []

  override onReconnected(listener: () => void): void {
    this.#listeners.push(listener)
  }

  reconnect(): void {
    for (const listener of this.#listeners) listener()
  }
}

function nodes(...names: readonly string[]): InvalidatedCache<string, Value>[] {
  return nodesOn(new MemoryBus(), ...names)
}

function nodesOn(bus: Bus, ...names: readonly string[]): InvalidatedCache<string, Value>[] {
  return names.map(
    (name) =>
      new InvalidatedCache<string, Value>(
        { name, maxEntries: 10, maxAgeMs: 60_000, tables: {}, keyOf: (key) => key },
        cacheInvalidation(bus, name),
      ),
  )
}

async function know(
  caches: readonly InvalidatedCache<string, Value>[],
  key: string,
): Promise<void> {
  for (const cache of caches) await cache.load(key, async () => ({ version: 1 }))
}

describe('caches on one bus', () => {
  it('all forget what one of them forgets, and nothing else', async () => {
    const caches = nodes('users', 'users', 'users')
    await know(caches, 'a')
    await know(caches, 'b')
    caches[1]?.forget(tx, 'a')
    expect(caches.map((cache) => [cache.get('a'), cache.get('b')])).toEqual(
      Array(3).fill([undefined, { version: 1 }]),
    )
  })

  it('leave those of another name alone', async () => {
    const caches = nodes('users', 'tokens')
    await know(caches, 'a')
    caches[0]?.forget(tx, 'a')
    expect(caches.map((cache) => cache.get('a'))).toEqual([undefined, { version: 1 }])
  })

  it('keep nothing of a read that was under way on another node during the change', async () => {
    const [here, there] = nodes('users', 'users') as [
      InvalidatedCache<string, Value>,
      InvalidatedCache<string, Value>,
    ]
    let answer: (value: Value) => void = () => {}
    const before = there.load('a', () => new Promise<Value>((resolve) => (answer = resolve)))
    here.forget(tx, 'a')
    answer({ version: 1 })
    expect(await before).toEqual({ version: 1 })
    expect(there.get('a')).toBeUndefined()
  })

  it('forget everything when messages may have been lost', async () => {
    const bus = new InterruptedBus()
    const [here] = nodesOn(bus, 'users')
    await know([here as InvalidatedCache<string, Value>], 'a')
    bus.reconnect()
    expect(here?.get('a')).toBeUndefined()
  })

  it('know a value again after it was forgotten', async () => {
    const [here, there] = nodes('users', 'users') as [
      InvalidatedCache<string, Value>,
      InvalidatedCache<string, Value>,
    ]
    await know([here, there], 'a')
    here.forget(tx, 'a')
    expect(await there.load('a', async () => ({ version: 2 }))).toEqual({ version: 2 })
    expect(there.get('a')).toEqual({ version: 2 })
  })
})
