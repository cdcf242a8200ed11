/** The contract of a store as checks that any test runner can run. */
import type { Batch } from '../model/batch.js'
import type { LogKey, LogRecord, MessageRecord, UnsentRecord } from '../model/records.js'
import { kindOf } from '../model/log-key.js'
import type { MessageQuery, Store, StoreFailure } from '../ports/store.js'

/** A check of a store. */
export interface StoreCheck {
  /** The behaviour that is checked. */
  readonly name: string
  /** @throws Error that says what the store did instead */
  run(): Promise<void>
}

/**
 * Returns the checks of a store, for the tests of an implementation:
 *
 * `for (const { name, run } of storeContract(open)) it(name, run)`
 *
 * @param open opens an empty store, another one with each call
 */
export function storeContract(open: () => Promise<Store>): readonly StoreCheck[] {
  return Object.entries(checks).map(([name, check]) => ({
    name,
    run: async () => check(await open()),
  }))
}

const nothing = { logs: [], unsent: [], cached: [] }

const checks: Readonly<Record<string, (store: Store) => Promise<void>>> = {
  async 'is empty at first'(store) {
    equal(await store.load(), nothing, 'load()')
    equal(await seqs(store, 'd1.5'), [], 'messages()')
    equal((await store.lead()).commit, 0, 'the commit number')
  },

  async 'holds all records of a batch'(store) {
    const { generation } = await store.lead()
    const cached = [{ key: 'contacts', value: [1, { a: null }], isStale: true }]
    const batch = aBatch(1, {
      logs: [{ ...aLog('d1.5'), change: 3 }],
      messages: [aMessage('d1.5', 1), aMessage('d1.5', 2), aMessage('g7', 1)],
      unsent: [anUnsent(9)],
      cached,
    })
    await store.apply(batch, generation)
    const { meta, logs, unsent } = batch
    equal(await store.load(), { meta, logs, unsent, cached }, 'load()')
    equal(await whole(store, 'd1.5'), [batch.messages[1], batch.messages[0]], 'messages()')
  },

  async 'is the same after a batch that was applied twice'(store) {
    const { generation } = await store.lead()
    await store.apply(aBatch(1, { messages: [aMessage('d1.5', 1)] }), generation)
    const batch = aBatch(2, {
      emptiedLogs: ['d1.5'],
      messages: [aMessage('d1.5', 2)],
      unsent: [anUnsent(1)],
      sent: [1],
    })
    await store.apply(batch, generation)
    await store.apply(batch, generation)
    equal(await seqs(store, 'd1.5'), [2], 'the positions')
    equal((await store.load()).unsent, [], 'unsent')
  },

  async 'changes fields of stored messages, and leaves out those of others'(store) {
    const { generation } = await store.lead()
    const first = { ...aMessage('d1.5', 1), fields: { a: 1, b: 2 } }
    await store.apply(aBatch(1, { messages: [first] }), generation)
    const set = { b: null, c: [3] }
    const { contentType, attachment, config, ext } = first
    const texts = { contentType, attachment, config, ext, content: 'new', editTimestamp: 9 }
    const batch = aBatch(2, {
      messages: [aMessage('d1.5', 2)],
      updated: [1, 2, 3].map((seq) => ({ log: 'd1.5', seq, set, texts })),
    })
    for (let times = 0; times < 2; times++) await store.apply(batch, generation)
    const expected = [
      { ...aMessage('d1.5', 2), ...texts, fields: { c: [3] } },
      { ...aMessage('d1.5', 1), ...texts, fields: { a: 1, c: [3] } },
    ]
    equal(await whole(store, 'd1.5'), expected, 'messages()')
  },

  async 'drops everything but unsent messages at a reset, and then writes the rest of the batch'(
    store,
  ) {
    const { generation } = await store.lead()
    const full = aBatch(1, {
      logs: [aLog('d1.5'), aLog('g7')],
      messages: [aMessage('d1.5', 1), aMessage('g7', 1)],
      unsent: [anUnsent(9)],
      cached: [{ key: 'pins', isStale: false }],
    })
    await store.apply(full, generation)
    const reset = aBatch(2, { isReset: true, logs: [aLog('g8')], messages: [aMessage('g8', 4)] })
    await store.apply(reset, generation)
    const { meta, logs } = reset
    equal(await store.load(), { meta, logs, unsent: full.unsent, cached: [] }, 'load()')
    equal(await seqs(store, 'd1.5'), [], 'the positions of a former log')
    equal(await seqs(store, 'g8'), [4], 'the positions of a new log')
  },

  async 'drops messages of logs that are gone, emptied, hidden up to an ID, and single ones'(
    store,
  ) {
    const { generation } = await store.lead()
    const keys = ['d1.5', 'g7', 'g70', 'b1']
    const messages = keys.flatMap((log) => [1, 2, 3].map((seq) => aMessage(log, seq)))
    await store.apply(aBatch(1, { logs: keys.map(aLog), messages }), generation)
    const batch = aBatch(2, {
      goneLogs: ['d1.5'],
      emptiedLogs: ['g7'],
      hidden: [{ log: 'g70', msgId: aMessage('g70', 2).msgId }],
      removed: [{ log: 'b1', seq: 2 }],
      // Written after that, as the order of the batch says.
      messages: [aMessage('g70', 1)],
    })
    await store.apply(batch, generation)
    const logs = (await store.load()).logs.map(({ key }) => key)
    equal(logs.sort(), ['b1', 'g7', 'g70'], 'the logs')
    const left = await Promise.all(keys.map((key) => seqs(store, key)))
    equal(left, [[], [], [3, 1], [3, 1]], 'the positions')
  },

  async 'reads messages newest first, between bounds, up to a limit, over any holes'(store) {
    const { generation } = await store.lead()
    const stored = Array.from({ length: 60 }, (_, index) => 1 + ((index * index * 7) % 301))
    const messages = stored.map((seq) => aMessage('d1.5', seq))
    await store.apply(aBatch(1, { messages }), generation)
    const sorted = [...new Set(stored)].sort((a, b) => b - a)
    for (let bound = 0; bound <= 310; bound += 31)
      for (const limit of [1, 5, 1_000]) {
        const [fromSeq, toSeq] = [310 - bound, bound]
        const expected = sorted.filter((seq) => seq >= fromSeq && seq <= toSeq).slice(0, limit)
        const found = await seqs(store, 'd1.5', { fromSeq, toSeq, limit })
        equal(found, expected, `the positions ${fromSeq} to ${toSeq}, at most ${limit}`)
      }
    const end = { toSeq: Number.MAX_SAFE_INTEGER, limit: 5 }
    equal(await seqs(store, 'd1.5', end), sorted.slice(0, 5), 'the positions up to any')
  },

  async 'refuses batches of a leader before the newest one, and keeps nothing of them'(store) {
    const first = await store.lead()
    await store.apply(aBatch(1, { logs: [aLog('d1.5')] }), first.generation)
    const second = await store.lead()
    equal(second.generation > first.generation, true, 'the generation grows')
    equal(second.commit, 1, 'the commit number')
    await fails(store.check(first.generation), 'superseded')
    await store.check(second.generation)
    await fails(store.apply(aBatch(2, { logs: [aLog('g7')] }), first.generation), 'superseded')
    equal((await store.load()).logs.length, 1, 'the number of logs')
    await store.apply(aBatch(2, {}), second.generation)
  },

  async 'makes the name of the installation once'(store) {
    const [one, two] = await Promise.all([store.deviceGuid(), store.deviceGuid()])
    equal(one.length >= 1 && one.length <= 128, true, 'a name of 1 to 128 characters')
    equal(two, one, 'the name of another call')
  },

  async 'keeps the file of an unsent message'(store) {
    const { generation } = await store.lead()
    const file = { blob: new Blob(['abc'], { type: 'text/plain' }), name: 'a.txt', fileType: 1 }
    await store.apply(aBatch(1, { unsent: [{ ...anUnsent(1), file }] }), generation)
    const [entry] = (await store.load()).unsent
    equal(entry?.file?.name, 'a.txt', 'the name')
    equal(await entry?.file?.blob.text(), 'abc', 'the content')
  },

  async 'has no leader after its deletion'(store) {
    const { generation } = await store.lead()
    await store.apply(aBatch(1, { messages: [aMessage('d1.5', 1)] }), generation)
    store.close()
    await store.destroy()
    const late = store.apply(aBatch(2, {}), generation)
    await fails(late, 'superseded', 'deleted')
  },
}

/** Reads every message of a log, newest first. */
function whole(store: Store, log: LogKey, query: Partial<MessageQuery> = {}) {
  return store.messages({ log, fromSeq: 1, toSeq: 1_000, limit: 1_000, ...query })
}

async function seqs(store: Store, log: LogKey, query?: Partial<MessageQuery>): Promise<number[]> {
  return (await whole(store, log, query)).map(({ seq }) => seq)
}

function aBatch(commit: number, changes: Partial<Omit<Batch, 'meta'>>): Batch {
  return {
    meta: { userId: 5, epoch: 'e', pos: `p${commit}`, listCursor: '', commit },
    ...{ isReset: false, goneLogs: [], emptiedLogs: [], hidden: [], removed: [] },
    ...{ logs: [], messages: [], updated: [], unsent: [], sent: [], cached: [] },
    ...changes,
  }
}

function aLog(key: LogKey): LogRecord {
  return {
    ...{ key, kind: kindOf(key), conversationId: 5, change: 1, seq: 1, unread: 0 },
    ...{ isHeadNeeded: false, readSeq: 0, deliveredSeq: 0, peerReadSeq: 0, peerDeliveredSeq: 0 },
    ...{ hiddenMsgId: 0, ranges: [[1, 1]] },
  }
}

function aMessage(log: LogKey, seq: number): MessageRecord {
  return {
    ...{ log, seq, msgId: seq * 10, senderId: 9, senderDeviceSn: 0, ...content },
    ...{ isSystem: false, timestamp: seq, editTimestamp: 0 },
  }
}

function anUnsent(transactionId: number): UnsentRecord {
  return {
    ...{ transactionId, conversationId: 9, isGroup: false, order: 1, state: 'queued' },
    ...{ createdAt: 5, ...content },
  }
}

const content = { contentType: 0, content: 'text', attachment: '', config: '', ext: '' }

function equal(actual: unknown, expected: unknown, what: string): void {
  const [is, should] = [jsonOf(actual), jsonOf(expected)]
  if (is !== should) throw new Error(`${what}: ${is} instead of ${should}`)
}

/** Members in the order of their names. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
}

async function fails(promise: Promise<unknown>, ...failures: StoreFailure[]): Promise<void> {
  const failure = await promise.then(
    () => 'nothing',
    (error: { readonly failure?: unknown }) => error.failure,
  )
  if (!failures.includes(failure as StoreFailure))
    throw new Error(`it failed with ${failure} instead of a StoreError ${failures.join(' or ')}`)
}
