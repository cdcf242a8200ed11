import { isFullRun } from '@hermod/testkit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CoreBench, type ReceivedCall } from '../../../test/support/core-bench.js'
import {
  conversations,
  keyOfCall,
  ModelLogs,
  ModelServer,
  muted,
  ttlMs,
} from '../../../test/support/send-order-model.js'
import { Unsent } from './unsent.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const blob = new Blob(['file'])

type UploadEnd = 'stored' | 'lost' | 'expired' | 'tooLarge'

type Action =
  | { readonly type: 'send'; readonly to: number; readonly hasFile: boolean }
  | { readonly type: 'upload'; readonly how: UploadEnd }
  | { readonly type: 'run'; readonly call: number; readonly isEventFirst: boolean }
  | {
      readonly type: 'refuse'
      readonly call: number
      readonly how: 'busy' | 'failed' | 'stored' | 'refused' | 'nonsense'
    }
  | { readonly type: 'hear' | 'commit' | 'open' }
  | { readonly type: 'cut'; readonly hasRun: boolean; readonly awayMs: number }
  | { readonly type: 'reload'; readonly isCommitted: boolean }
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'retry' | 'discard'; readonly entry: number }

const any = fc.nat({ max: 5 })
const one = <T extends string>(...types: T[]) => fc.constantFrom(...types)
const actions: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: one('send'),
      to: fc.nat({ max: 2 }),
      hasFile: fc.nat({ max: 4 }).map((number) => number === 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: one('upload'),
      how: one('stored', 'stored', 'lost', 'expired', 'tooLarge'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ type: one('run'), call: any, isEventFirst: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: one('refuse'),
      call: any,
      how: one('busy', 'failed', 'stored', 'refused', 'nonsense'),
    }),
  },
  { weight: 9, arbitrary: fc.record({ type: one('hear', 'commit', 'commit') }) },
  { weight: 3, arbitrary: fc.record({ type: one('open') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: one('cut'),
      hasRun: fc.boolean(),
      awayMs: fc.constantFrom(0, 0.6 * ttlMs, 2 * ttlMs),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: one('reload'), isCommitted: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: one('wait'), ms: fc.constantFrom(300, 6_000, 60_000) }),
  },
  { weight: 1, arbitrary: fc.record({ type: one('retry', 'discard'), entry: any }) },
)

/** A client and its server, and what must be true of them. */
class World {
  readonly server = new ModelServer()
  readonly bench: CoreBench
  /** Frames on their way to the client. */
  frames: (() => void)[] = []
  /** Commands `send` by transaction ID. */
  readonly commands = new Map<number, string>()
  /** Messages that the user has not dropped, in order. */
  readonly expected = new Set<number>()
  /** Messages that have failed once: they lose their place. */
  readonly displaced = new Set<number>()
  #nextId = 1
  #random = 0

  constructor() {
    this.bench = new CoreBench({
      isCommitting: false,
      transactionTtlMs: ttlMs,
      random: () => (this.#random = (this.#random + 0.137) % 1),
      parts: (context) => {
        const logs = new ModelLogs(context)
        const unsent = new Unsent(context, logs)
        logs.stored = (message) => unsent.stored(message)
        return [logs, unsent]
      },
    })
    this.bench.onCommit = () => this.check()
  }

  do(action: Action): void {
    const { bench } = this
    switch (action.type) {
      case 'send':
        this.#send(action.to, action.hasFile)
        break
      case 'upload':
        this.#endUpload(action.how)
        break
      case 'run':
        this.#run(bench.calls[action.call % bench.calls.length], action.isEventFirst)
        break
      case 'refuse':
        this.#refuse(bench.calls[action.call % bench.calls.length], action.how)
        break
      case 'hear':
        this.frames.shift()?.()
        break
      case 'commit':
        bench.commit()
        break
      case 'open':
        bench.open()
        break
      case 'cut':
        if (action.hasRun)
          for (const call of bench.calls)
            if (call.op === 'message.send') this.server.send(call, bench.now)
        this.#cut()
        if (action.awayMs > 0) {
          bench.step({ type: 'disconnect' })
          bench.advance(action.awayMs)
        }
        break
      case 'reload':
        if (action.isCommitted) bench.commitLast()
        this.frames = []
        bench.effects = []
        bench.restart()
        break
      case 'wait':
        bench.advance(action.ms)
        break
      case 'retry':
      case 'discard':
        this.#decide(action.type, action.entry)
    }
  }

  #send(to: number, hasFile: boolean): void {
    const target = conversations[to] ?? { conversationId: 8, isGroup: false }
    const transactionId = this.#nextId++
    const content = { contentType: 0, content: '', attachment: '', config: '', ext: '' }
    const id = this.bench.command({
      type: 'send',
      transactionId,
      ...target,
      content,
      createdAt: 1,
      ...(hasFile && { file: { blob, name: 'a', fileType: 100 } }),
    })
    // It is sent when its file is uploaded.
    if (hasFile) this.displaced.add(transactionId)
    this.commands.set(transactionId, id)
    this.expected.add(transactionId)
  }

  #run(call: ReceivedCall | undefined, isEventFirst: boolean): void {
    if (!call) return
    const { bench, server } = this
    bench.calls = bench.calls.filter((each) => each !== call)
    if (call.op === 'message.changes') {
      const page = server.changes(call)
      this.frames.push(() => bench.answer(call, page))
      return
    }
    if (call.op === 'file.upload.chat') {
      const ticket = { upload_url: 'u', upload_method: 'POST', download_url: 'd' }
      this.frames.push(() => bench.answer(call, ticket))
      return
    }
    const { msgId, change } = server.send(call, bench.now)
    const key = keyOfCall(call.data)
    const frames = [() => bench.answer(call, true, { msg_ids: [msgId] })]
    if (change !== undefined && key !== muted) {
      const { event, data } = server.frame(key, change)
      frames.push(() => bench.event(event, data, change))
    }
    this.frames.push(...(isEventFirst ? frames.reverse() : frames))
  }

  #refuse(call: ReceivedCall | undefined, how: string): void {
    if (call?.op !== 'message.send') return
    const { bench, server } = this
    const isKnown = server.knows(call.data.transaction_id, bench.now)
    bench.calls = bench.calls.filter((each) => each !== call)
    if (how === 'stored') server.send(call, bench.now)
    this.frames.push(() => {
      if (how === 'busy')
        bench.refuse(call, 42900, 'too_many_requests', { retry: true, retry_after_ms: 50_000 })
      else if (how === 'nonsense' || (how === 'refused' && isKnown)) bench.answer(call, null)
      else if (how === 'refused') bench.refuse(call, 13004, 'blocked_by_recipient')
      else bench.refuse(call, 20000, 'storage_failed', { retry: true })
    })
  }

  #endUpload(how: UploadEnd): boolean {
    const { bench } = this
    const effect = bench.effects.shift()
    if (effect?.type !== 'upload') return effect !== undefined
    const { transactionId } = effect
    const isCancelled = bench.effects.some(
      (each) => each.type === 'cancelUpload' && each.transactionId === transactionId,
    )
    if (isCancelled) return true
    const bodies = { stored: { data: true }, expired: { code: 14008 }, tooLarge: { code: 14003 } }
    if (how === 'lost') bench.step({ type: 'uploaded', transactionId })
    else {
      const answer = { status: 200, body: JSON.stringify(bodies[how]) }
      bench.step({ type: 'uploaded', transactionId, answer })
    }
    return true
  }

  #cut(): void {
    this.frames = []
    this.bench.cut()
  }

  #decide(type: 'retry' | 'discard', index: number): void {
    const entries = [...this.bench.stored.unsent.values()].filter(({ state }) => state === 'failed')
    const entry = entries[index % entries.length]
    if (!entry) return
    const { transactionId } = entry
    if (type === 'discard') {
      this.expected.delete(transactionId)
      this.bench.command({ type, transactionId })
    } else {
      // An undecided message gets another ID, which the model does not follow.
      if (entry.failure?.name === 'undecided') return
      this.bench.command({ type, transactionId })
    }
  }

  /** Lets everything come to an end. */
  heal(): void {
    const { bench } = this
    bench.isCommitting = true
    bench.commit()
    for (let round = 0; round < 300; round++) {
      bench.open()
      while (bench.calls.length > 0) this.#run(bench.calls[0], round % 2 === 0)
      while (this.#endUpload('stored'));
      for (const frame of this.frames.splice(0)) frame()
      bench.advance(round < 200 ? 700 : 10_000)
      const isQuiet = [...bench.stored.unsent.values()].every(({ state }) => state === 'failed')
      if (isQuiet && bench.calls.length === 0 && this.frames.length === 0 && round > 10) return
    }
  }

  /** True in every commit: each message that the app was answered for is shown once. */
  check(): void {
    const { unsent, messages } = this.bench.stored
    for (const { transactionId, state } of unsent.values())
      if (state === 'failed') this.displaced.add(transactionId)
    const shown = [...messages.values()].map(({ transactionId }) => transactionId ?? 0)
    expect(new Set(shown).size, 'stored twice').toBe(shown.length)
    for (const id of this.expected)
      if (this.bench.results.has(this.commands.get(id) ?? ''))
        expect(unsent.has(id) || shown.includes(id), `message ${id} is shown`).toBe(true)
  }

  checkEnd(): void {
    const { unsent, messages } = this.bench.stored
    const stored = [...this.server.logs.values()].flat().map(({ transactionId }) => transactionId)
    expect(new Set(stored).size, 'once at the server').toBe(stored.length)
    const kept = [...messages.values()].map(({ transactionId }) => transactionId ?? 0)
    expect(kept.toSorted((a, b) => a - b)).toEqual(stored.toSorted((a, b) => a - b))
    for (const id of this.expected) {
      const entry = unsent.get(id)
      const isAnswered = this.bench.results.has(this.commands.get(id) ?? '')
      // A reload may have lost a message that was never answered for.
      if (entry) expect(entry.state, `message ${id}`).toBe('failed')
      if (entry || isAnswered) expect(stored.includes(id), `message ${id}`).toBe(!entry)
    }
    for (const [key, log] of this.server.logs) {
      const ids = log.map((each) => each.transactionId).filter((id) => !this.displaced.has(id))
      expect(ids, `order of ${key}`).toEqual(ids.toSorted((a, b) => a - b))
    }
  }
}

it('every message is stored exactly once and in order, whatever is lost, repeated or reloaded', {
  timeout: 600_000,
}, () => {
  fc.assert(
    fc.property(fc.array(actions, { maxLength: 60 }), (script) => {
      const world = new World()
      for (const action of script) world.do(action)
      world.heal()
      world.checkEnd()
    }),
    { seed, numRuns: isFullRun ? 20_000 : 500 },
  )
})
