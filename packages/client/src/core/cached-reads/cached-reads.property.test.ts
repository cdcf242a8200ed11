import { userChangeKind } from '@hermod/protocol'
import { isFullRun } from '@hermod/testkit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CoreBench, type ReceivedCall } from '../../../test/support/core-bench.js'
import { CachedReads } from './cached-reads.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const me = 5

/** Cached reads of the model: the call that reads each, its event, and its user change. */
const model = {
  profile: {
    op: 'user.profile.get',
    event: ['user.info_updated', { user_ids: [me] }],
    change: [userChangeKind.profile, 0],
  },
  pins: {
    op: 'user.conversation.pin_list',
    event: ['conversation.pinned', { user_ids: [me] }],
    change: [userChangeKind.pins, 0],
  },
  'user.8': {
    op: 'contact.find',
    event: ['contact.info_updated', { actor_id: me, user_ids: [8] }],
    change: [userChangeKind.contact, 8],
  },
  'user.9': {
    op: 'contact.find',
    event: ['contact.muted', { actor_id: me, user_ids: [9] }],
    change: [userChangeKind.contact, 9],
  },
  'group.7': {
    op: 'group.info.batch',
    event: ['group.info_updated', { actor_id: 8, user_ids: [], group_id: 7, property: 'name' }],
    change: [userChangeKind.group, 7],
  },
} as const
type Key = keyof typeof model
const keys = Object.keys(model) as Key[]

type Action =
  | { readonly type: 'change' | 'watch' | 'drop'; readonly key: Key }
  | { readonly type: 'run' | 'reply' | 'fail' | 'hear'; readonly call: number }
  | { readonly type: 'open' | 'cut' | 'reload' | 'wait' }

const aKey = fc.constantFrom(...keys)
const call = fc.nat({ max: 2 })
const one = <T extends string>(...types: T[]) => fc.constantFrom(...types)
const actions: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: one('change'), key: aKey }) },
  { weight: 1, arbitrary: fc.record({ type: one('watch', 'drop'), key: aKey }) },
  { weight: 8, arbitrary: fc.record({ type: one('run', 'reply', 'hear'), call }) },
  { weight: 1, arbitrary: fc.record({ type: one('fail'), call }) },
  { weight: 4, arbitrary: fc.record({ type: one('wait') }) },
  { weight: 1, arbitrary: fc.record({ type: one('open', 'cut', 'reload') }) },
)

class World {
  readonly bench = new CoreBench({
    parts: (context) => {
      const cached = new CachedReads(context)
      return [
        cached,
        {
          // As Sync does with `user` of a page.
          event: ({ event, data }) => {
            const { kind, ref } = data as { readonly kind: number; readonly ref: number }
            if (event === 'changed') cached.changed(kind, ref)
          },
        },
      ]
    },
  })
  /** The numbers that stand for the server's values. */
  readonly values = new Map<Key, number>(keys.map((key) => [key, 1]))
  readonly wanted = new Set<Key>()
  /** Changes that no event of an open session has told. */
  readonly untold = new Set<Key>()
  /** Answers that the server has read and not sent. */
  answers: (() => void)[] = []
  events: { readonly key: Key; readonly hear: () => void }[] = []

  do(action: Action): void {
    const { bench } = this
    switch (action.type) {
      case 'change':
        this.#change(action.key)
        break
      case 'watch':
      case 'drop':
        if (action.type === 'watch') this.wanted.add(action.key)
        else this.wanted.delete(action.key)
        bench.command({ type: 'watch', caller: 'tab', keys: [...this.wanted] })
        break
      case 'run':
        this.#run(bench.calls[action.call % bench.calls.length])
        break
      case 'reply':
        this.answers.splice(action.call % (this.answers.length || 1), 1)[0]?.()
        break
      case 'fail':
        this.#fail(bench.calls[action.call % bench.calls.length])
        break
      case 'hear':
        this.events.shift()?.hear()
        break
      case 'open':
        this.#open()
        break
      case 'cut':
        this.#end()
        bench.cut()
        break
      case 'reload':
        this.#end()
        bench.restart()
        bench.command({ type: 'watch', caller: 'tab', keys: [...this.wanted] })
        break
      case 'wait':
        bench.advance(150)
        if (bench.context.isOpen) this.#open()
    }
  }

  heal(): void {
    for (let round = 0; round < 60; round++) {
      this.#open()
      for (const { hear } of this.events.splice(0)) hear()
      while (this.bench.calls.length > 0) this.#run(this.bench.calls[0])
      for (const answer of this.answers.splice(0)) answer()
      this.bench.advance(2_000)
    }
  }

  check(): void {
    for (const key of this.wanted) {
      const { value, isStale } = this.bench.stored.cached.get(key) ?? {}
      expect({ key, isStale, value: JSON.stringify(value) }).toEqual({
        key,
        isStale: false,
        value: JSON.stringify(this.#valueOf(key)),
      })
    }
  }

  #open(): void {
    this.bench.open()
    for (const key of this.untold) {
      const [kind, ref] = model[key].change
      this.bench.event('changed', { kind, ref })
    }
    this.untold.clear()
  }

  /** What the session has not told is told by the next sync. */
  #end(): void {
    for (const { key } of this.events) this.untold.add(key)
    this.events = []
    this.answers = []
  }

  #change(key: Key): void {
    const version = (this.values.get(key) ?? 0) + 1
    this.values.set(key, version)
    if (!this.bench.context.isOpen) this.untold.add(key)
    else {
      const [event, data] = model[key].event
      const payload = { ...data, value: `${version}`, updated_at: version, version }
      this.events.push({ key, hear: () => this.bench.event(event, payload) })
    }
  }

  #run(call: ReceivedCall | undefined): void {
    if (!call) return
    const { bench } = this
    bench.calls = bench.calls.filter((each) => each !== call)
    const { list: userIds, group_list: groupIds } = call.data
    const batch = userIds ? 'user' : 'group'
    const list = (userIds ?? groupIds)?.map((id: number) => this.#valueOf(`${batch}.${id}` as Key))
    const key = keys.find((each) => model[each].op === call.op) as Key
    const value = key === 'pins' ? { conversation_ids: this.#valueOf(key) } : this.#valueOf(key)
    this.answers.push(() => bench.answer(call, list ?? value))
  }

  #fail(call: ReceivedCall | undefined): void {
    if (!call) return
    this.bench.calls = this.bench.calls.filter((each) => each !== call)
    this.bench.refuse(call, 50300, 'unavailable', { retry: true })
  }

  #valueOf(key: Key): unknown {
    const version = this.values.get(key)
    const [name, ref] = key.split('.')
    if (name === 'user') return { user_id: Number(ref), version }
    if (name === 'group')
      return { group_id: Number(ref), name: `${version}`, updated_at: version, version }
    return name === 'pins' ? [version] : { version }
  }
}

it('wanted cached reads equal the server, whatever changes, fails and is cut', () => {
  fc.assert(
    fc.property(fc.array(actions, { maxLength: 80 }), (script) => {
      const world = new World()
      world.do({ type: 'open' })
      for (const key of keys) world.do({ type: 'watch', key })
      for (const action of script) world.do(action)
      world.heal()
      world.check()
    }),
    { seed, numRuns: isFullRun ? 5_000 : 300 },
  )
})
