import { forceCloseDatabase, IDBFactory, IDBKeyRange, IDBObjectStore } from 'fake-indexeddb'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { aBatch } from '../../test/support/a-batch.js'
import { aLog, aMessage } from '../../test/support/fake-session.js'
import type { MessageQuery, Store } from '../ports/store.js'
import { systemClock } from '../runtime/system-clock.js'
import { databaseName, indexedDbStores } from './indexed-db-store.js'
import { memoryStore } from './memory-store.js'
import { storeContract } from './store-contract.js'

const name = { url: 'https://chat.example.org', appId: 'app', userId: 5 }

const openers: readonly { readonly kind: string; open(): Promise<Store> }[] = [
  { kind: 'memory', open: async () => memoryStore() },
  {
    kind: 'IndexedDB',
    open: () => indexedDbStores(systemClock, { indexedDB: new IDBFactory(), IDBKeyRange })(name),
  },
]

/** Reads every message of a log. */
function whole(store: Store, log: string, query: Partial<MessageQuery> = {}) {
  return store.messages({ log, fromSeq: 1, toSeq: 1_000, limit: 1_000, ...query })
}

async function seqs(store: Store, log: string, query: Partial<MessageQuery> = {}) {
  return (await whole(store, log, query)).map(({ seq }) => seq)
}

describe.each(openers)('the store in $kind', ({ open }) => {
  for (const { name, run } of storeContract(open)) it(name, run)

  it('reads any part of any log, newest first', async () => {
    const store = await open()
    const { generation } = await store.lead()
    const { messages } = store
    const property = fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: 300 }), { maxLength: 60 }),
      fc.integer({ min: 0, max: 310 }),
      fc.integer({ min: 0, max: 310 }),
      fc.integer({ min: 1, max: 20 }),
      async (stored, fromSeq, toSeq, limit) => {
        const rows = stored.map((seq) => aMessage('d1.5', seq))
        await store.apply(aBatch(1, { emptiedLogs: ['d1.5'], messages: rows }), generation)
        const found = await messages.call(store, { log: 'd1.5', fromSeq, toSeq, limit })
        const expected = stored
          .filter((seq) => seq >= fromSeq && seq <= toSeq)
          .toSorted((a, b) => b - a)
          .slice(0, limit)
        expect(found.map(({ seq }) => seq)).toEqual(expected)
      },
    )
    await fc.assert(property, { numRuns: 100, seed: 1 })
  })
})

it('the contract of a store: one that breaks it is told what it did', async () => {
  const store = memoryStore()
  const broken = { ...store, messages: async () => [aMessage('d1.5', 3)] }
  const results = await Promise.allSettled(
    storeContract(async () => broken).map(({ run }) => run()),
  )
  const reasons = results.flatMap((each) =>
    each.status === 'rejected' ? [each.reason.message] : [],
  )
  expect(reasons[0]).toBe('messages(): [3] instead of []')
})

describe('the store in IndexedDB', () => {
  function bench() {
    const databases: IDBDatabase[] = []
    const factory = new IDBFactory()
    const open = (...args: Parameters<IDBFactory['open']>) => {
      const request = IDBFactory.prototype.open.apply(factory, args)
      request.addEventListener('success', () => databases.push(request.result))
      return request
    }
    const deleteDatabase = (name: string) => factory.deleteDatabase(name)
    const indexedDB = { open, deleteDatabase } as IDBFactory
    const idb = { indexedDB, IDBKeyRange }
    return {
      open: indexedDbStores(systemClock, idb),
      openFormat: (format: number) => indexedDbStores(systemClock, idb, format)(name),
      closeByBrowser() {
        for (const database of databases) forceCloseDatabase(database as never)
      },
      deleteByBrowser: () =>
        new Promise((resolve) => {
          deleteDatabase(databaseName(name)).onsuccess = resolve
        }),
    }
  }

  it('says that the browser has closed it, and takes back the device when it is empty then', async () => {
    const { open, closeByBrowser, deleteByBrowser } = bench()
    const store = await open(name)
    const guid = await store.deviceGuid()
    const closed = new Promise<void>((resolve) => store.watch?.(resolve))
    closeByBrowser()
    await closed
    await deleteByBrowser()
    expect(await store.load()).toEqual({ logs: [], unsent: [], cached: [] })
    expect(await store.deviceGuid(guid)).toBe(guid)
    expect(await store.deviceGuid('another')).toBe(guid)
  })

  it('is there after it was closed, one for each server, application and user', async () => {
    const { open } = bench()
    const store = await open(name)
    const { generation } = await store.lead()
    await store.apply(aBatch(1, { logs: [aLog('d1.5')] }), generation)
    const guid = await store.deviceGuid()
    store.close()
    const again = await open({ ...name, url: 'https://chat.example.org/' })
    expect((await again.load()).logs).toHaveLength(1)
    expect(await again.deviceGuid()).toBe(guid)
    for (const other of [{ userId: 6 }, { appId: 'b' }, { url: 'https://b.example.org' }]) {
      const store = await open({ ...name, ...other })
      expect((await store.load()).logs).toEqual([])
    }
  })

  it('is read by one tab while another one writes it', async () => {
    const { open } = bench()
    const [leader, follower] = [await open(name), await open(name)]
    const { generation } = await leader.lead()
    await leader.apply(aBatch(1, { messages: [aMessage('d1.5', 1)] }), generation)
    expect(await seqs(follower, 'd1.5')).toEqual([1])
    await expect(follower.apply(aBatch(2, {}), generation + 1)).rejects.toMatchObject({
      failure: 'superseded',
    })
  })

  it('is dropped when its format is older, and is unavailable when it is newer', async () => {
    const { openFormat } = bench()
    const old = await openFormat(1)
    const { generation } = await old.lead()
    await old.apply(aBatch(1, { logs: [aLog('d1.5')] }), generation)
    const next = await openFormat(2)
    expect(await next.load()).toEqual({ logs: [], unsent: [], cached: [] })
    await expect(old.load()).rejects.toMatchObject({ failure: 'unavailable' })
    await expect(openFormat(1)).rejects.toMatchObject({ failure: 'unavailable' })
  })

  it('keeps nothing of a batch with a value that cannot be stored', async () => {
    const { open } = bench()
    const store = await open(name)
    const { generation } = await store.lead()
    const cached = [{ key: 'bad', value: () => {}, isStale: false }]
    const batch = aBatch(1, { logs: [aLog('d1.5')], messages: [aMessage('d1.5', 1)], cached })
    await expect(store.apply(batch, generation)).rejects.toMatchObject({ failure: 'unavailable' })
    expect(await store.load()).toEqual({ logs: [], unsent: [], cached: [] })
    expect(await seqs(store, 'd1.5')).toEqual([])
  })

  it('reports a full disk as quota, and keeps nothing of the batch', async () => {
    const { open } = bench()
    const store = await open(name)
    const { generation } = await store.lead()
    const put = vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementationOnce(() => {
      throw new DOMException('full', 'QuotaExceededError')
    })
    const batch = aBatch(1, { logs: [aLog('d1.5')], removed: [{ log: 'g7', seq: 1 }] })
    await expect(store.apply(batch, generation)).rejects.toMatchObject({ failure: 'quota' })
    put.mockRestore()
    expect((await store.load()).logs).toEqual([])
  })

  it('is opened again when the browser has closed it', async () => {
    const { open, closeByBrowser } = bench()
    const store = await open(name)
    const { generation } = await store.lead()
    closeByBrowser()
    await store.apply(aBatch(1, { logs: [aLog('d1.5')] }), generation)
    closeByBrowser()
    expect((await store.load()).logs).toHaveLength(1)
  })

  it('refuses a former leader when the browser has deleted the database', async () => {
    const { open, closeByBrowser, deleteByBrowser } = bench()
    const store = await open(name)
    const { generation } = await store.lead()
    closeByBrowser()
    await deleteByBrowser()
    await expect(store.apply(aBatch(1, {}), generation)).rejects.toMatchObject({
      failure: 'superseded',
    })
    expect((await store.lead()).generation).toBeGreaterThanOrEqual(generation)
  })

  it('ends as deleted in all tabs when one deletes it', async () => {
    const { open } = bench()
    const [one, two] = [await open(name), await open(name)]
    const { generation } = await one.lead()
    await one.apply(aBatch(1, { messages: [aMessage('d1.5', 1)] }), generation)
    await two.destroy()
    await expect(one.load()).rejects.toMatchObject({ failure: 'deleted' })
    await expect(one.apply(aBatch(2, {}), generation)).rejects.toMatchObject({ failure: 'deleted' })
    expect(await (await open(name)).load()).toEqual({ logs: [], unsent: [], cached: [] })
  })

  it('is out of the way of a deletion while it is released', async () => {
    const { open, deleteByBrowser } = bench()
    const store = await open(name)
    const { generation } = await store.lead()
    await store.apply(aBatch(1, { logs: [aLog('d1.5')] }), generation)
    store.release?.()
    expect((await store.load()).logs).toHaveLength(1)
    store.release?.()
    await deleteByBrowser()
    expect((await store.load()).logs).toEqual([])
  })

  it('fails as unavailable when the browser does not open it', async () => {
    let fire = () => {}
    const clock = {
      ...systemClock,
      after: (_: number, run: () => void) => {
        fire = run
        return () => {}
      },
    }
    const never = { open: () => ({}) } as unknown as IDBFactory
    const opening = indexedDbStores(clock, { indexedDB: never, IDBKeyRange })(name)
    fire()
    await expect(opening).rejects.toMatchObject({ failure: 'unavailable' })
    const refused = {
      open() {
        throw new DOMException('not here', 'SecurityError')
      },
    }
    const idb = { indexedDB: refused as unknown as IDBFactory, IDBKeyRange }
    await expect(indexedDbStores(systemClock, idb)(name)).rejects.toMatchObject({
      failure: 'unavailable',
    })
  })
})
