import * as fc from 'fast-check'
import { deviceEventKinds } from '@hermod/protocol/gateway'
import { describe, expect, it } from 'vitest'
import { LinkBench } from '../../test/support/link-bench.js'

interface Frame {
  readonly id: unknown
  readonly op: string
}

/** A core with all parts, whose server answers as the test says. */
class BadWorld {
  readonly bench = new LinkBench({ isWhole: true })
  readonly #answer: (frame: Frame) => unknown
  calls = 0
  connections = 0

  constructor(answer: (frame: Frame) => unknown) {
    this.#answer = answer
    this.bench.step({ type: 'connect' })
    this.serve()
  }

  /** Lets time pass in steps of a second. */
  pass(seconds: number): void {
    for (let i = 0; i < seconds; i++) {
      this.bench.pass(1_000)
      this.serve()
    }
  }

  /** Answers everything that the core wants, until it waits. */
  serve(): void {
    for (let rounds = 0; this.bench.effects.length > 0; rounds++) {
      if (rounds > 1_000) throw new Error('the core asks for ever')
      const { effects } = this.bench
      this.bench.effects = []
      for (const effect of effects) {
        if (effect.type === 'token') this.bench.step({ type: 'token', token: 'token' })
        else if (effect.type === 'connect') {
          this.connections++
          this.bench.open({ sync: 'needed' })
        } else if (effect.type === 'send') this.#answerTo(JSON.parse(effect.text) as Frame)
        else if (effect.type === 'readMessages')
          this.bench.step({ type: 'messages', request: effect.request, messages: [] })
      }
    }
  }

  #answerTo(frame: Frame): void {
    if (frame.op === 'session.open') return
    this.calls++
    // Presence is answered well, so that the others are reached.
    const isPresence = frame.op === 'presence.subscribe'
    const answer = isPresence ? { id: frame.id, code: 200, data: [] } : this.#answer(frame)
    if (answer !== undefined) this.bench.frame(answer)
  }

  get isConnected(): boolean {
    return this.bench.context.isOpen
  }
}

describe('all parts of the core', () => {
  const answers: Record<string, (frame: Frame) => unknown> = {
    'answers null': ({ id }) => ({ id, code: 200, data: null }),
    'answers a number': ({ id }) => ({ id, code: 200, data: 7 }),
    'answers an empty object': ({ id }) => ({ id, code: 200, data: {} }),
    'answers an empty list': ({ id }) => ({ id, code: 200, data: [] }),
    'answers lists of nonsense': ({ id }) => ({
      id,
      code: 200,
      data: { heads: [null, 5, {}], user: [{}], pos: 5, messages: [{}], changes: [null] },
    }),
    'always has more': ({ id }) => ({
      id,
      code: 200,
      data: { heads: [], user: [], gone: [], more: true, pos: 'p', cursor: '' },
    }),
    'refuses everything for ever': ({ id }) => ({ id, code: 500, name: 'internal', retry: false }),
    'fails everything for now': ({ id }) => ({ id, code: 503, name: 'unavailable', retry: true }),
    'is too busy for everything': ({ id }) => ({ id, code: 42_900, name: 'too_many_requests' }),
    'has none of the operations': ({ id }) => ({ id, code: 40_401, name: 'operation_unknown' }),
    'never answers': () => undefined,
    'answers without a code': ({ id }) => ({ id }),
  }
  it.each(Object.entries(answers))(
    'neither end nor ask in a loop when the server %s',
    (_, answer) => {
      const world = new BadWorld(answer)
      world.bench.command('w', {
        type: 'watch',
        caller: 'test',
        keys: ['contacts', 'groups', 'user.9', 'group.7', 'members.7', 'pins', 'profile'],
      })
      world.bench.command('p', { type: 'presence', caller: 'test', userIds: [9] })
      world.bench.command('s', {
        type: 'send',
        transactionId: 77,
        conversationId: 9,
        isGroup: false,
        content: { contentType: 0, content: 'x', attachment: '', config: '', ext: '' },
        createdAt: 1,
      })
      world.serve()
      world.pass(600)
      // Ten minutes: about as many calls as seconds are none that a server would notice.
      expect(world.calls).toBeLessThan(2_000)
      expect(world.connections).toBeLessThan(100)
      expect(world.bench.status.state).not.toBe('ended')
    },
  )

  const nonsense = fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, 0, -1, 1, 2, 5, 9, 1.5, 2 ** 53, '', 'x', '5', true, [], {}),
    fc.dictionary(
      fc.constantFrom('low_id', 'high_id', 'msg_id', 'seq', 'user_ids', 'group_id', 'x'),
      fc.constantFrom(null, 0, 5, 9, -1, 'x', [], [5], {}),
    ),
  )
  const event = fc.record({
    event: fc.constantFrom(...deviceEventKinds, 'sync.needed', 'unknown'),
    data: fc.oneof(
      nonsense,
      fc.dictionary(
        fc.constantFrom(
          'conversation',
          'msg_id',
          'seq',
          'sender_id',
          'user_id',
          'user_ids',
          'group_id',
          'hidden_msg_id',
          'version',
          'states',
          'content_type',
          'transaction_id',
        ),
        nonsense,
      ),
    ),
    change: fc.constantFrom(undefined, undefined, 0, 1, 2, 60, -1, 1.5, 'x', null),
    pos: fc.constantFrom(undefined, 'p2', 5),
  })
  it('take any data of any event: at worst the client connects anew', () => {
    const property = fc.property(fc.array(event, { minLength: 1, maxLength: 12 }), (events) => {
      const world = new BadWorld(({ id }) => ({
        id,
        code: 200,
        data: { heads: [], user: [], gone: [], more: false, pos: 'p1', cursor: '' },
      }))
      for (const each of events) {
        world.bench.frame(each)
        world.serve()
        if (!world.isConnected) world.pass(40)
      }
      world.pass(5)
      expect(world.isConnected).toBe(true)
    })
    void fc.assert(property, { numRuns: 300 })
  })
})
