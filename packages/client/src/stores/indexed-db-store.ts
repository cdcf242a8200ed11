import type { Batch } from '../model/batch.js'
import { altered } from '../model/message-fields.js'
import type { LogKey, MessageRecord, MetaRecord } from '../model/records.js'
import { storeFormat } from '../model/records.js'
import type { Clock } from '../ports/clock.js'
import {
  type MessageQuery,
  type OpenStore,
  type Store,
  type StoredState,
  StoreError,
  type StoreFailure,
} from '../ports/store.js'

/** An open or a deletion that takes longer has failed: another tab may hold an old database. */
const openMs = 5_000

const tables = {
  /** Keys: those of {@link metaKeys}. */
  meta: undefined,
  logs: 'key',
  messages: ['log', 'seq'],
  unsent: 'transactionId',
  cached: 'key',
} as const
type TableName = keyof typeof tables
const allTables = Object.keys(tables) as TableName[]

/** The parts of IndexedDB that are used: those of the page, or of a test. */
export type IndexedDb = Pick<typeof globalThis, 'indexedDB' | 'IDBKeyRange'>

const metaKeys = { record: '', generation: 'generation', deviceGuid: 'device' } as const

/** Returns the opener of stores in IndexedDB: one database for a server, an application and a user. */
export function indexedDbStores(
  clock: Clock,
  idb: IndexedDb = globalThis,
  format: number = storeFormat,
): OpenStore {
  return async (name) => {
    const store = new IndexedDbStore(databaseName(name), clock, idb, format)
    await store.open()
    return store
  }
}

/** Returns the name of the database of a user, which is also that of its tabs. */
export function databaseName({ url, appId, userId }: Parameters<OpenStore>[0]): string {
  return `hermod ${JSON.stringify([new URL(url).href, appId, userId])}`
}

class IndexedDbStore implements Store {
  readonly #name: string
  readonly #clock: Clock
  readonly #idb: IndexedDb
  readonly #format: number
  /** Absent: not opened yet, or lost; the next use opens it. */
  #database: Promise<IDBDatabase> | undefined
  #closed = () => {}
  /** Why the store is not opened again. */
  #end: StoreFailure | undefined

  constructor(name: string, clock: Clock, idb: IndexedDb, format: number) {
    this.#name = name
    this.#clock = clock
    this.#idb = idb
    this.#format = format
  }

  /** @throws StoreError */
  async open(): Promise<void> {
    await this.#run(['meta'], 'readonly', async () => {})
  }

  load(): Promise<StoredState> {
    return this.#run(['meta', 'logs', 'unsent', 'cached'], 'readonly', async (transaction) => {
      const all = <T>(table: TableName) => result<T[]>(transaction.objectStore(table).getAll())
      const [meta, logs, unsent, cached] = await Promise.all([
        result<MetaRecord | undefined>(transaction.objectStore('meta').get(metaKeys.record)),
        all<StoredState['logs'][number]>('logs'),
        all<StoredState['unsent'][number]>('unsent'),
        all<StoredState['cached'][number]>('cached'),
      ])
      return { ...(meta && { meta }), logs, unsent, cached }
    })
  }

  messages(query: MessageQuery): Promise<readonly MessageRecord[]> {
    return this.#run(['messages'], 'readonly', (transaction) =>
      newestMessages(transaction.objectStore('messages'), query, this.#idb),
    )
  }

  lead(): ReturnType<Store['lead']> {
    return this.#run(['meta'], 'readwrite', async (transaction) => {
      const meta = transaction.objectStore('meta')
      const [former = 0, record] = await Promise.all([
        result<number | undefined>(meta.get(metaKeys.generation)),
        result<MetaRecord | undefined>(meta.get(metaKeys.record)),
      ])
      // Not below the time, so that the numbers also grow when the database was deleted and made anew.
      const generation = Math.max(former + 1, Math.floor(this.#clock.wallTime()))
      meta.put(generation, metaKeys.generation)
      return { generation, commit: record?.commit ?? 0 }
    })
  }

  check(generation: number): Promise<void> {
    return this.#run(['meta'], 'readonly', (transaction) => checkLeader(transaction, generation))
  }

  apply(batch: Batch, generation: number): Promise<void> {
    const work = async (transaction: IDBTransaction) => {
      const check = checkLeader(transaction, generation)
      await Promise.all([check, write(transaction, batch, this.#idb)])
    }
    // Everything else is at the server too, and the transaction order keeps a lost end consistent.
    const durability = batch.unsent.length > 0 ? 'strict' : 'relaxed'
    return this.#run(allTables, 'readwrite', work, durability)
  }

  deviceGuid(known: string = crypto.randomUUID()): Promise<string> {
    return this.#run(['meta'], 'readwrite', async (transaction) => {
      const meta = transaction.objectStore('meta')
      const kept = await result<string | undefined>(meta.get(metaKeys.deviceGuid))
      if (kept !== undefined) return kept
      meta.put(known, metaKeys.deviceGuid)
      return known
    })
  }

  watch(listener: () => void): void {
    this.#closed = listener
  }

  release(): void {
    this.#database?.then((database) => database.close()).catch(() => {})
    this.#database = undefined
  }

  close(): void {
    this.#end ??= 'unavailable'
    this.release()
  }

  async destroy(): Promise<void> {
    this.#end = undefined
    // A frozen tab delays the deletion; the contents go at once.
    const clear = async (transaction: IDBTransaction) => {
      for (const table of allTables) transaction.objectStore(table).clear()
    }
    await this.#run(allTables, 'readwrite', clear, 'strict').catch(() => {})
    this.#end = 'deleted'
    this.release()
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#clock.after(openMs, resolve)
      const request = this.#idb.indexedDB.deleteDatabase(this.#name)
      request.onsuccess = request.onerror = () => {
        cancel()
        if (request.error) reject(storeError(request.error))
        else resolve()
      }
    })
  }

  /**
   * Runs a transaction to its end. Browsers close databases by themselves, so any failure but a full
   * disk makes it open the database again and repeat; every transaction here may run twice.
   */
  async #run<T>(
    names: readonly TableName[],
    mode: IDBTransactionMode,
    work: (transaction: IDBTransaction) => Promise<T>,
    durability: IDBTransactionDurability = 'relaxed',
  ): Promise<T> {
    for (let isRepeated = false; ; isRepeated = true) {
      if (this.#end) throw new StoreError(this.#end)
      try {
        this.#database ??= this.#openDatabase()
        const database = await this.#database
        return await finish(database.transaction(names, mode, { durability }), work)
      } catch (error) {
        const failure = storeError(error)
        if (this.#end) throw new StoreError(this.#end, { cause: error })
        if (isRepeated || error instanceof StoreError || failure.failure === 'quota') throw failure
        this.release()
      }
    }
  }

  #openDatabase(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      let isLate = false
      const cancel = this.#clock.after(openMs, () => {
        isLate = true
        const cause = new Error(`the database did not open within ${openMs} ms`)
        reject(new StoreError('unavailable', { cause }))
      })
      const request = this.#idb.indexedDB.open(this.#name, this.#format)
      request.onupgradeneeded = () => makeTables(request.result)
      request.onerror = () => {
        cancel()
        reject(request.error)
      }
      request.onsuccess = () => {
        cancel()
        const database = request.result
        database.onversionchange = ({ newVersion }) => {
          this.#end ??= newVersion === null ? 'deleted' : 'unavailable'
          database.close()
        }
        database.onclose = () => {
          this.#database = undefined
          this.#closed()
        }
        if (isLate) database.close()
        else resolve(database)
      }
    })
  }
}

/** Makes the tables anew: records of an older format are dropped. */
function makeTables(database: IDBDatabase): void {
  for (const name of [...database.objectStoreNames]) database.deleteObjectStore(name)
  for (const name of allTables) {
    const keyPath = tables[name]
    if (keyPath === undefined) database.createObjectStore(name)
    else database.createObjectStore(name, { keyPath: keyPath as string | string[] })
  }
}

async function checkLeader(transaction: IDBTransaction, generation: number): Promise<void> {
  const meta = transaction.objectStore('meta')
  const current = await result<number | undefined>(meta.get(metaKeys.generation))
  if (current !== generation) throw new StoreError('superseded')
}

/** Writes a batch. Requests run in the order in which they are made. */
async function write(
  transaction: IDBTransaction,
  batch: Batch,
  { IDBKeyRange }: IndexedDb,
): Promise<void> {
  /** An array is greater than every number. */
  const wholeLog = (log: LogKey) => IDBKeyRange.bound([log], [log, []])
  const [meta, logs, messages, unsent, cached] = allTables.map((name) =>
    transaction.objectStore(name),
  ) as [IDBObjectStore, IDBObjectStore, IDBObjectStore, IDBObjectStore, IDBObjectStore]
  if (batch.isReset) for (const table of [logs, messages, cached]) table.clear()
  for (const log of batch.goneLogs) {
    logs.delete(log)
    messages.delete(wholeLog(log))
  }
  for (const log of batch.emptiedLogs) messages.delete(wholeLog(log))
  for (const { log, msgId } of batch.hidden) await deleteUpTo(messages, wholeLog(log), msgId)
  for (const { log, seq } of batch.removed) messages.delete([log, seq])
  for (const record of batch.logs) logs.put(record)
  for (const record of batch.messages) messages.put(record)
  for (const { log, seq, ...alteration } of batch.updated) {
    const record = await result<MessageRecord | undefined>(messages.get([log, seq]))
    if (record) messages.put(altered(record, alteration))
  }
  for (const record of batch.unsent) unsent.put(record)
  for (const transactionId of batch.sent) unsent.delete(transactionId)
  for (const record of batch.cached) cached.put(record)
  meta.put(batch.meta, metaKeys.record)
}

/** Deletes the messages of a log up to an ID, which need not grow with seq. */
function deleteUpTo(messages: IDBObjectStore, log: IDBKeyRange, msgId: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = messages.openCursor(log)
    request.onerror = () => reject(request.error)
    request.onsuccess = () => {
      const cursor = request.result
      if (!cursor) return resolve()
      if ((cursor.value as MessageRecord).msgId <= msgId) cursor.delete()
      cursor.continue()
    }
  })
}

/** Reads down in steps of the limit, and in longer ones where nothing is stored. */
async function newestMessages(
  messages: IDBObjectStore,
  { log, fromSeq, toSeq, limit }: MessageQuery,
  { IDBKeyRange }: IndexedDb,
): Promise<readonly MessageRecord[]> {
  const found: MessageRecord[] = []
  let upper = Math.min(toSeq, Number.MAX_SAFE_INTEGER)
  let step = limit
  while (upper >= fromSeq && found.length < limit) {
    const lower = Math.max(fromSeq, upper - step + 1)
    const range = IDBKeyRange.bound([log, lower], [log, upper])
    const page = await result<MessageRecord[]>(messages.getAll(range))
    found.push(...page.reverse())
    step = page.length === 0 ? step * 4 : limit
    upper = lower - 1
  }
  return found.slice(0, limit)
}

function result<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** Resolves when the transaction is committed; one that fails is rolled back as a whole. */
async function finish<T>(
  transaction: IDBTransaction,
  work: (transaction: IDBTransaction) => Promise<T>,
): Promise<T> {
  const done = new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () =>
      reject(transaction.error ?? new Error('the transaction was aborted'))
  })
  try {
    const [value] = await Promise.all([work(transaction), done])
    return value
  } catch (error) {
    abort(transaction)
    await done.catch(() => {})
    // Requests of an aborted transaction fail with AbortError; the transaction has the reason.
    throw transaction.error ?? error
  }
}

/** Aborts a transaction, which does not follow from an exception between its requests. */
function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort()
  } catch {
    // It has ended already.
  }
}

function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const isQuota = (error as { readonly name?: unknown } | null)?.name === 'QuotaExceededError'
  return new StoreError(isQuota ? 'quota' : 'unavailable', { cause: error })
}
