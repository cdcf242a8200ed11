import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LinkBench } from '../../../test/support/link-bench.js'

function online(session = {}): LinkBench {
  const bench = new LinkBench()
  bench.goOnline(session)
  return bench
}

const ids = (bench: LinkBench) => bench.sent().map(({ id }) => id as number)

describe('calls', () => {
  it('carry all parameters, and give the answer without the envelope', () => {
    const bench = online()
    const { outcomes } = bench.call('message.send', { content: 'x' })
    expect(bench.sent()).toEqual([{ id: 1, op: 'message.send', data: { content: 'x' } }])
    bench.frame({ id: 1, code: 200, message: null, data: true, msg_ids: [7] })
    expect(outcomes).toEqual([{ type: 'answer', answer: { data: true, msg_ids: [7] } }])
  })

  it('fail with the name, the text and the advice of the server', () => {
    const bench = online()
    const { outcomes } = bench.call('group.info')
    bench.frame({
      id: 1,
      code: 13_000,
      data: null,
      message: 'group does not exist',
      name: 'group_not_found',
      retry: false,
      retry_after_ms: 5,
      extra: 1,
    })
    expect(outcomes).toEqual([
      {
        type: 'failure',
        failure: {
          code: 13_000,
          name: 'group_not_found',
          message: 'group does not exist',
          retry: false,
          retryAfterMs: 5,
        },
      },
    ])
  })

  it('of an older server, whose answers have no name, are refused', () => {
    const bench = online()
    const { outcomes } = bench.call('message.history')
    bench.frame({ id: 1, code: 40_401, data: null, message: 'unknown operation' })
    expect(outcomes).toMatchObject([{ failure: { code: 40_401, name: 'refused' } }])
  })

  it.each([undefined, null, 'x', 5.5])('with the code %s fail as bad_answer', (code) => {
    const bench = online()
    const { outcomes } = bench.call('group.info')
    bench.frame({ id: 1, code })
    expect(outcomes).toMatchObject([{ type: 'failure', failure: { name: 'bad_answer' } }])
  })

  it('run at most max_in_flight at once; the others follow in their order', () => {
    const bench = online({ max_in_flight: 2 })
    for (let i = 0; i < 4; i++) bench.call(`op.${i}`)
    expect(ids(bench)).toEqual([1, 2])
    bench.frame({ id: 2, code: 200, data: null })
    expect(bench.sent()).toMatchObject([{ id: 3, op: 'op.2' }])
    bench.frame({ id: 1, code: 200, data: null })
    expect(bench.sent()).toMatchObject([{ id: 4, op: 'op.3' }])
  })

  it('beyond 1,000 that wait fail as too_many_calls', () => {
    const bench = online({ max_in_flight: 1 })
    const calls = Array.from({ length: 1_002 }, () => bench.call('op'))
    const failed = calls.filter(({ outcomes }) => outcomes.length > 0)
    expect(failed.map(({ outcomes }) => outcomes)).toMatchObject([
      [{ type: 'failure', failure: { name: 'too_many_calls', retry: true } }],
    ])
  })

  it('longer than max_frame, in bytes of UTF-8, fail as invalid_argument and are not sent', () => {
    const bench = online({ max_frame: 100 })
    const { outcomes } = bench.call('op', { text: '漢'.repeat(26) })
    expect(outcomes).toMatchObject([{ failure: { name: 'invalid_argument' } }])
    bench.call('op', { text: '漢'.repeat(20) })
    expect(bench.sent()).toHaveLength(1)
  })

  it('that are no JSON fail as invalid_argument', () => {
    const bench = online()
    const { outcomes } = bench.call('op', { id: 5n })
    expect(outcomes).toMatchObject([{ failure: { name: 'invalid_argument' } }])
  })

  it('without a session are lost, and were not sent', () => {
    const bench = new LinkBench()
    expect(bench.call('op').outcomes).toEqual([{ type: 'lost', isSent: false }])
  })

  it('are lost with their connection, and say whether they were sent', () => {
    const bench = online({ max_in_flight: 1 })
    const [sent, waiting] = [bench.call('op'), bench.call('op')]
    bench.end(1006)
    expect(sent.outcomes).toEqual([{ type: 'lost', isSent: true }])
    expect(waiting.outcomes).toEqual([{ type: 'lost', isSent: false }])
    bench.retry()
    bench.open()
    bench.frame({ id: 1, code: 200, data: 'late' })
    expect(sent.outcomes).toHaveLength(1)
  })

  it('without an answer for 30 s fail, and the connection is probed', () => {
    const bench = online()
    const { outcomes } = bench.call('op')
    bench.effects = []
    bench.pass(25_000)
    bench.frame({})
    bench.pass(5_000)
    expect(outcomes).toMatchObject([
      { type: 'failure', failure: { name: 'not_connected', retry: true } },
    ])
    expect(bench.sent()).toMatchObject([{ id: 'probe' }])
  })

  it('that are cancelled have no outcome; one that waits is not sent', () => {
    const bench = online({ max_in_flight: 1 })
    const [sent, waiting] = [bench.call('op.1'), bench.call('op.2')]
    sent.cancel()
    waiting.cancel()
    bench.effects = []
    bench.frame({ id: 1, code: 200, data: null })
    expect(bench.sent()).toEqual([])
    expect([sent.outcomes, waiting.outcomes]).toEqual([[], []])
  })

  it('that were too many are sent again after the time that the server names', () => {
    const bench = online()
    const { outcomes } = bench.call('op.1')
    bench.frame({ id: 1, code: 42_900, name: 'too_many_requests', retry_after_ms: 700 })
    bench.call('op.2')
    bench.effects = []
    bench.pass(699)
    expect(bench.sent()).toEqual([])
    bench.pass(1)
    expect(bench.sent()).toMatchObject([
      { id: 2, op: 'op.1' },
      { id: 3, op: 'op.2' },
    ])
    bench.frame({ id: 2, code: 200, data: 1 })
    expect(outcomes).toEqual([{ type: 'answer', answer: { data: 1 } }])
  })

  it('that read and were too many hold back reads, and no message', () => {
    const bench = online({ max_in_flight: 3 })
    bench.call('group.info.batch')
    bench.frame({ id: 1, code: 42_900, name: 'too_many_requests', retry_after_ms: 700 })
    bench.effects = []
    bench.call('contact.find')
    bench.call('message.send')
    expect(bench.sent()).toMatchObject([{ id: 2, op: 'message.send' }])
    bench.frame({ id: 2, code: 42_900, name: 'too_many_requests', retry_after_ms: 900 })
    bench.effects = []
    bench.pass(700)
    expect(bench.sent()).toEqual([])
    bench.pass(200)
    expect(bench.sent().map(({ op }) => op)).toEqual([
      'message.send',
      'group.info.batch',
      'contact.find',
    ])
  })

  it('fail when they are too many for the sixth time, or for longer than 30 s', () => {
    const bench = online()
    const { outcomes } = bench.call('op')
    for (let i = 0; i < 6; i++) {
      const [id] = ids(bench)
      bench.frame({ id, code: 42_900, name: 'too_many_requests', retry: true })
      bench.effects = bench.effects.filter(({ type }) => type === 'send')
      bench.pass(1_000)
    }
    expect(outcomes).toMatchObject([{ failure: { name: 'too_many_requests' } }])
    const long = bench.call('op')
    const [id] = ids(bench)
    bench.frame({ id, code: 42_900, name: 'too_many_requests', retry_after_ms: 30_001 })
    expect(long.outcomes).toMatchObject([{ failure: { retryAfterMs: 30_001 } }])
  })

  it('have exactly one outcome, whatever happens in whatever order', () => {
    const action = fc.oneof(
      fc.constant({ type: 'call' as const }),
      fc.record({
        type: fc.constant('answer' as const),
        id: fc.nat(12),
        code: fc.constantFrom(200, 500, 42_900),
      }),
      fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(1, 1_000, 31_000) }),
      fc.constant({ type: 'cut' as const }),
      fc.constant({ type: 'open' as const }),
    )
    void fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        const bench = online()
        const calls: ReturnType<LinkBench['call']>[] = []
        for (const each of actions) {
          if (each.type === 'call') calls.push(bench.call('op'))
          else if (each.type === 'answer') bench.frame({ id: each.id, code: each.code, data: 0 })
          else if (each.type === 'pass') bench.pass(each.ms)
          else if (each.type === 'cut') bench.end(1006)
          else if (!bench.context.isOpen) {
            bench.step({ type: 'wakeup' })
            bench.open()
          }
        }
        expect(calls.every(({ outcomes }) => outcomes.length <= 1)).toBe(true)
        bench.step({ type: 'disconnect' })
        expect(calls.map(({ outcomes }) => outcomes.length)).toEqual(calls.map(() => 1))
        expect(bench.errors).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})

describe('calls of the app', () => {
  const command = { type: 'call', op: 'user.profile', data: { a: 1 }, userId: 9 } as const

  it('give the answer', () => {
    const bench = online()
    bench.command('c1', command)
    expect(bench.sent()).toEqual([{ id: 1, op: 'user.profile', data: { a: 1 }, user_id: 9 }])
    bench.frame({ id: 1, code: 200, message: null, data: { x: 1 } })
    expect(bench.take('result')).toEqual([{ type: 'result', id: 'c1', value: { data: { x: 1 } } }])
  })

  it('wait for a session up to 10 s', () => {
    const bench = new LinkBench()
    bench.step({ type: 'connect' })
    bench.command('c1', command)
    bench.pass(9_999)
    bench.step({ type: 'token', token: 't' })
    bench.open()
    expect(bench.sent()).toMatchObject([{ op: 'session.open' }, { op: 'user.profile' }])
    bench.end(1006)
    bench.command('c2', command)
    bench.effects = []
    bench.pass(10_000)
    expect(bench.take('failure')).toMatchObject([{ id: 'c2', failure: { name: 'not_connected' } }])
  })

  it('fail at once when the app wants no connection', () => {
    const bench = new LinkBench()
    bench.command('c1', command)
    expect(bench.take('failure')).toMatchObject([{ id: 'c1', failure: { name: 'not_connected' } }])
  })

  it('that may have run are not repeated', () => {
    const bench = online()
    bench.command('c1', command)
    bench.end(1006)
    expect(bench.take('failure')).toMatchObject([
      { id: 'c1', failure: { name: 'not_connected', retry: true } },
    ])
    bench.retry()
    bench.open()
    expect(bench.sent()).toMatchObject([{ op: 'session.open' }])
  })

  it('have no outcome once they are cancelled', () => {
    const bench = online()
    bench.command('c1', command)
    bench.step({ type: 'cancel', id: 'c1' })
    bench.frame({ id: 1, code: 200, data: 0 })
    expect(bench.take('result')).toEqual([])
  })

  it('cannot open another session on the connection', () => {
    const bench = online()
    bench.command('c1', { ...command, op: 'session.open' })
    expect(bench.take('failure')).toMatchObject([{ failure: { name: 'invalid_argument' } }])
  })

  it('of a kind that no part knows fail as invalid_argument', () => {
    const bench = online()
    bench.command('c1', { type: 'read', conversationId: 1, msgId: 1 })
    expect(bench.take('failure')).toMatchObject([{ failure: { name: 'invalid_argument' } }])
  })
})
