import { describe, expect, it } from 'vitest'
import { LinkBench, openedSession } from '../../../test/support/link-bench.js'
import { failureOf } from '../../errors.js'

/** A bench that has asked for a connection and has its token. */
function connecting(options = {}): LinkBench {
  const bench = new LinkBench(options)
  bench.step({ type: 'connect' })
  bench.step({ type: 'token', token: 'token 1' })
  return bench
}

function online(session = {}): LinkBench {
  const bench = new LinkBench()
  bench.goOnline(session)
  return bench
}

describe('connecting', () => {
  it('asks for a token, opens one connection and a session, and is online once synced', () => {
    const bench = new LinkBench({ deviceGuid: 'guid', userId: 5 })
    bench.step({ type: 'connect' })
    expect(bench.take('token')).toEqual([{ type: 'token', isRefused: false }])
    expect(bench.status).toEqual({ state: 'connecting' })
    bench.step({ type: 'token', token: 'token 1' })
    expect(bench.take('connect')).toEqual([{ type: 'connect', connection: 1 }])
    bench.step({ type: 'opened', connection: 1 })
    expect(bench.sent()).toEqual([
      {
        id: 'open',
        op: 'session.open',
        data: {
          app_id: 'app',
          access_token: 'token 1',
          user_id: 5,
          device_guid: 'guid',
          platform: 6,
          user_agent: 'test',
          sdk: 'test',
          features: ['message.updated', 'changes.skipped', 'streams'],
        },
      },
    ])
    bench.frame({ id: 'open', code: 200, message: null, data: openedSession })
    expect(bench.status).toEqual({ state: 'syncing' })
    expect(bench.core.live).toMatchObject({ userId: 5, deviceSn: 1, token: 'token 1' })
    bench.run((context) => context.setSynced(true))
    expect(bench.status).toEqual({ state: 'online' })
  })

  it('is one connection, however often the app asks for it', () => {
    const bench = new LinkBench()
    bench.step({ type: 'connect' })
    bench.step({ type: 'connect' })
    expect(bench.take('token')).toHaveLength(1)
    bench.step({ type: 'token', token: 'token 1' })
    bench.step({ type: 'connect' })
    bench.open()
    bench.step({ type: 'connect' })
    expect(bench.sent()).toMatchObject([{ id: 'open' }])
    expect(bench.connection).toBe(1)
  })

  it('sends the position that the store has', () => {
    const meta = { userId: 5, epoch: 'e1', pos: 'p7', listCursor: '', commit: 3 }
    const bench = connecting({ state: { meta, logs: [], unsent: [], cached: [] } })
    bench.step({ type: 'opened', connection: 1 })
    expect(bench.sent()).toMatchObject([{ data: { pos: 'p7', user_id: 5 } }])
  })

  it('ends when the app disconnects, and can begin again', () => {
    const bench = online()
    bench.step({ type: 'disconnect' })
    expect(bench.take('abandon')).toEqual([{ type: 'abandon', connection: 1, code: 1000 }])
    expect(bench.status).toEqual({ state: 'idle' })
    bench.pass(1_000_000)
    expect(bench.take('connect')).toEqual([])
    bench.step({ type: 'connect' })
    expect(bench.take('connect')).toEqual([{ type: 'connect', connection: 2 }])
  })

  it('ignores what former connections still say', () => {
    const bench = online()
    bench.end(1006)
    bench.retry()
    bench.step({ type: 'frame', connection: 1, text: 'nonsense' })
    bench.step({ type: 'ended', connection: 1, code: 4501, reason: 'kicked' })
    bench.open()
    expect(bench.status.state).toBe('syncing')
  })

  it('starts anew when the session does not open in time', () => {
    const bench = connecting()
    bench.pass(15_000)
    expect(bench.take('abandon')).toHaveLength(1)
    expect(bench.status).toMatchObject({ state: 'offline', failure: { name: 'not_connected' } })
    bench.retry()
    expect(bench.connection).toBeGreaterThan(1)
  })
})

describe('the epoch and the user', () => {
  const meta = { userId: 5, epoch: 'e1', pos: 'p7', listCursor: 'c', commit: 3 }
  const state = { meta, logs: [], unsent: [], cached: [] }

  it('another epoch drops everything but unsent messages, before parts see the session', () => {
    const calls: string[] = []
    const part = () => ({ reset: () => calls.push('reset'), opened: () => calls.push('opened') })
    const bench = connecting({ state, part })
    bench.open({ epoch: 'e2', sync: 'reset' })
    expect(calls).toEqual(['reset', 'opened'])
    const expected = { userId: 5, epoch: 'e2', pos: '', listCursor: '' }
    expect(bench.context.batch.meta).toMatchObject(expected)
  })

  it('the same epoch keeps the store', () => {
    const calls: string[] = []
    const bench = connecting({ state, part: () => ({ reset: () => calls.push('reset') }) })
    bench.open({ sync: 'needed' })
    expect(calls).toEqual([])
    expect(bench.context.batch.meta).toMatchObject({ pos: 'p7', listCursor: 'c' })
  })

  it('a token of another user ends the client, and nothing is stored', () => {
    const bench = connecting({ state })
    bench.open({ user_id: 6, epoch: 'e2' })
    expect(bench.status).toMatchObject({ state: 'ended', end: { name: 'wrong_user' } })
    expect(bench.context.batch.meta).toEqual(meta)
    expect(bench.take('abandon')).toHaveLength(1)
  })

  it('the refusal of another user by the server is wrong_user too', () => {
    const bench = connecting({ state })
    bench.step({ type: 'opened', connection: 1 })
    bench.frame({ id: 'open', code: 403, name: 'no_permission', message: 'user_id', retry: false })
    bench.end(4505)
    bench.step({ type: 'token', token: 'token 1' })
    expect(bench.status).toMatchObject({ state: 'ended', end: { name: 'wrong_user' } })
  })
})

describe('close codes', () => {
  it.each([1000, 1001, 1005, 1006, 1011, 1015, 3000, 4000, 4001, 4005, 4006, 4008, 4042, 4499])(
    '%i: the client comes back by itself',
    (code) => {
      const bench = online()
      bench.end(code)
      expect(bench.status.state).toBe('offline')
      bench.retry()
      expect(bench.connection).toBe(2)
    },
  )

  it.each([4500, 4501, 4502, 4503, 4504, 4506, 4507, 4510, 4511, 4742, 4999])(
    '%i: the client stays away until the app connects',
    (code) => {
      const bench = online()
      bench.pass(5_000)
      bench.end(code, 'why')
      expect(bench.status).toMatchObject({
        state: 'ended',
        end: { code, message: 'why', retry: false },
      })
      bench.pass(10_000_000)
      bench.step({ type: 'wakeup' })
      expect(bench.connection).toBe(1)
      expect(bench.take('token')).toEqual([])
    },
  )

  it('4500 in the first seconds of a session: the client comes back once, since an older session of the device may have come last', () => {
    const bench = online()
    bench.pass(4_000)
    bench.end(4500, 'replaced')
    expect(bench.status.state).toBe('offline')
    bench.retry()
    bench.open()
    bench.end(4500, 'replaced')
    expect(bench.status).toMatchObject({ state: 'ended', end: { name: 'replaced' } })
    expect(bench.connection).toBe(2)
  })

  it('4500 again after a lasting session: the client may come back once more', () => {
    const bench = online()
    bench.end(4500, 'replaced')
    bench.retry()
    bench.open()
    bench.pass(10_000)
    bench.end(1006)
    bench.retry()
    bench.open()
    bench.end(4500, 'replaced')
    expect(bench.status.state).toBe('offline')
  })

  it('names what has ended the client', () => {
    const bench = online()
    bench.frame({ event: 'session.closing', data: { code: 4501, reason: 'device_removed' } })
    // The close frame itself is lost.
    bench.end(1006)
    expect(bench.status).toMatchObject({
      state: 'ended',
      end: { code: 4501, name: 'kicked', message: 'device_removed' },
    })
  })

  it('ends a connection that was announced to close and does not', () => {
    const bench = online()
    bench.pass(5_000)
    bench.frame({ event: 'session.closing', data: { code: 4500, reason: 'replaced' } })
    bench.pass(2_000)
    expect(bench.status).toMatchObject({ state: 'ended', end: { code: 4500 } })
    expect(bench.take('abandon')).toHaveLength(1)
  })

  it('keeps to an announced end, whatever the connection does after it', () => {
    const closing = { event: 'session.closing', data: { code: 4501, reason: 'kicked' } }
    const silent = online()
    silent.step({ type: 'wakeup' })
    silent.pass(3_000)
    silent.frame(closing)
    silent.pass(2_000)
    const nonsense = online()
    nonsense.frame(closing)
    nonsense.frame('nonsense')
    for (const bench of [silent, nonsense]) {
      expect(bench.status).toMatchObject({ state: 'ended', end: { name: 'kicked' } })
      expect(bench.connection).toBe(1)
    }
  })

  it('comes back after the time that the server has named, and no wakeup shortens it', () => {
    const bench = online()
    const data = { code: 4000, reason: 'shutdown', retry_after_ms: 1_700 }
    bench.frame({ event: 'session.closing', data })
    bench.end(4000)
    expect(bench.status).toMatchObject({ state: 'offline', retryInMs: 1_700 })
    bench.step({ type: 'wakeup' })
    bench.pass(1_699)
    expect(bench.connection).toBe(1)
    bench.pass(1)
    expect(bench.connection).toBe(2)
  })

  it.each([-1, 'soon', null, Number.MAX_VALUE])('ignores the wait %s', (wait) => {
    const bench = online()
    bench.frame({ event: 'session.closing', data: { code: 4000, retry_after_ms: wait } })
    bench.end(4000)
    bench.retry()
    expect(bench.connection).toBe(2)
  })
})

describe('back-off', () => {
  it('waits up to a bound that doubles from 0.5 s to 30 s, with full jitter', () => {
    const bench = connecting({ random: () => 0.999_999 })
    const waits: (number | undefined)[] = []
    for (let i = 0; i < 9; i++) {
      bench.end(1006)
      waits.push(bench.status.retryInMs)
      bench.retry()
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
  })

  it('comes back at once where chance says so', () => {
    const bench = connecting({ random: () => 0 })
    bench.end(1006)
    bench.pass(0)
    expect(bench.connection).toBe(2)
  })

  it('continues when sessions open and end at once, and ends with one that lasts', () => {
    const bench = online()
    for (let i = 0; i < 5; i++) {
      bench.end(4005)
      bench.retry()
      bench.open()
    }
    bench.end(4005)
    expect(bench.status.retryInMs).toBe(8_000)
    bench.retry()
    bench.open()
    bench.pass(10_000)
    bench.end(4005)
    expect(bench.status.retryInMs).toBe(250)
  })

  it('begins anew after a session that lasted and fell silent', () => {
    const bench = connecting()
    for (let i = 0; i < 8; i++) {
      bench.end(1006)
      bench.retry()
    }
    bench.open()
    bench.pass(35_000)
    bench.end(1006)
    expect(bench.status.retryInMs).toBe(250)
  })

  it('ends at a wakeup', () => {
    const bench = connecting()
    for (let i = 0; i < 8; i++) {
      bench.end(1006)
      bench.retry()
    }
    bench.end(1006)
    const before = bench.connection
    bench.step({ type: 'wakeup' })
    expect(bench.connection).toBe(before + 1)
  })
})

describe('tokens', () => {
  it('one that the app has returned for a first session is used without another question', () => {
    const bench = new LinkBench({ token: 'token 0' })
    expect(bench.core.live.token).toBe('token 0')
    bench.step({ type: 'connect' })
    expect(bench.take('token')).toEqual([])
    bench.step({ type: 'opened', connection: 1 })
    expect(bench.sent()).toMatchObject([{ data: { access_token: 'token 0' } }])
    bench.end(4505)
    expect(bench.take('token')).toEqual([{ type: 'token', isRefused: true }])
  })

  it.each([4003, 4505])('after %i another token is used, the refused one never again', (code) => {
    const bench = online()
    bench.end(code)
    expect(bench.take('token')).toEqual([{ type: 'token', isRefused: true }])
    bench.step({ type: 'token', token: 'token 1' })
    expect(bench.status).toMatchObject({ state: 'ended', end: { code } })
    expect(bench.connection).toBe(1)
    bench.step({ type: 'connect' })
    expect(bench.take('token')).toEqual([{ type: 'token', isRefused: true }])
    bench.step({ type: 'token', token: 'token 2' })
    bench.open()
    expect(bench.status.state).toBe('syncing')
  })

  it('a token whose refusal was answered before the connection was cut is not sent again', () => {
    const bench = connecting()
    bench.effects = []
    bench.step({ type: 'opened', connection: 1 })
    bench.frame({ id: 'open', code: 402, name: 'token_expired', message: 'x', retry: false })
    bench.end(1006)
    bench.retry()
    expect(bench.take('token')).toEqual([{ type: 'token', isRefused: true }])
  })

  it('a function that gives only refused tokens ends the client after three of them', () => {
    const bench = connecting()
    for (let i = 2; i < 10 && bench.status.state !== 'ended'; i++) {
      bench.end(4505)
      bench.retry()
      bench.step({ type: 'token', token: `token ${i}` })
    }
    expect(bench.status).toMatchObject({ state: 'ended', end: { name: 'invalid_token' } })
    expect(bench.connection).toBe(3)
  })

  it('a function that fails is asked again later', () => {
    const bench = new LinkBench()
    bench.step({ type: 'connect' })
    bench.step({ type: 'tokenFailed', failure: failureOf('token_failed', 'no network', true) })
    expect(bench.status).toMatchObject({
      state: 'offline',
      failure: { name: 'token_failed', message: 'no network' },
    })
    bench.retry()
    expect(bench.take('token').length).toBeGreaterThan(1)
  })

  it('a function that fails for good ends the client with its failure', () => {
    const bench = new LinkBench()
    bench.step({ type: 'connect' })
    const failure = {
      code: 10_004,
      name: 'password_incorrect',
      message: 'x',
      retry: false,
    } as const
    bench.step({ type: 'tokenFailed', failure })
    expect(bench.status).toEqual({ state: 'ended', end: failure })
    bench.pass(1_000_000)
    expect(bench.take('token')).toHaveLength(1)
  })

  it('a function that never settles is asked again after 30 s, and its request is aborted', () => {
    const bench = new LinkBench()
    bench.step({ type: 'connect' })
    bench.pass(30_000)
    expect(bench.status).toMatchObject({ failure: { name: 'token_failed' } })
    expect(bench.take('cancelToken')).toHaveLength(1)
  })

  it.each([undefined, null, 5, '', {}])('%s is no token', (token) => {
    const bench = new LinkBench()
    bench.step({ type: 'connect' })
    bench.step({ type: 'token', token: token as string })
    expect(bench.status).toMatchObject({ failure: { name: 'token_failed' } })
  })
})

describe('dead connections', () => {
  it('replaces a connection on which nothing came for the interval and 10 s', () => {
    const bench = online()
    bench.pass(34_999)
    expect(bench.connection).toBe(1)
    bench.pass(1)
    expect(bench.take('abandon')).toEqual([{ type: 'abandon', connection: 1 }])
    expect(bench.connection).toBe(2)
  })

  it('keeps a connection with heartbeats', () => {
    const bench = online()
    for (let i = 0; i < 20; i++) {
      bench.pass(25_000)
      bench.frame({})
    }
    expect(bench.connection).toBe(1)
  })

  it('probes after a wakeup, and keeps a connection that answers', () => {
    const bench = online()
    bench.step({ type: 'wakeup' })
    bench.step({ type: 'wakeup' })
    expect(bench.sent()).toMatchObject([{ id: 'probe' }])
    bench.frame({ id: 'probe', code: 10_002, message: 'empty' })
    bench.pass(10_000)
    expect(bench.connection).toBe(1)
    bench.step({ type: 'wakeup' })
    expect(bench.sent()).toMatchObject([{ id: 'probe' }])
  })

  it('replaces a connection on which nothing comes for 4 s after a probe', () => {
    const bench = online()
    bench.step({ type: 'wakeup' })
    bench.frame({})
    bench.pass(4_000)
    expect(bench.take('abandon')).toHaveLength(1)
    expect(bench.connection).toBe(2)
    bench.open()
    expect(bench.status.state).toBe('syncing')
  })

  it('waits for the answer to a probe behind other frames, and at most 30 s', () => {
    const bench = online()
    bench.step({ type: 'wakeup' })
    for (let second = 3; second < 30; second += 3) {
      bench.pass(3_000)
      bench.frame({})
    }
    expect(bench.connection).toBe(1)
    bench.pass(2_999)
    expect(bench.connection).toBe(1)
    bench.pass(1)
    expect(bench.connection).toBe(2)
  })

  it('probes when timers fire far too late, since the machine was asleep', () => {
    const bench = online()
    bench.sleep(3_600_000)
    expect(bench.sent()).toMatchObject([{ id: 'probe' }])
    bench.pass(3_999)
    expect(bench.connection).toBe(1)
    bench.pass(1)
    expect(bench.connection).toBe(2)
  })

  it('takes clocks that go backwards for clocks that stand', () => {
    const bench = online()
    bench.now -= 500_000
    bench.frame({})
    bench.step({ type: 'wakeup' })
    bench.frame({ id: 'probe', code: 200 })
    expect(bench.status.state).toBe('online')
    expect(bench.context.now).toBe(1_000)
  })
})

describe('servers that break the contract', () => {
  it.each(['', 'nonsense', '{"a":', '[]', '5', 'null', '"x"'])(
    'the frame %j makes the client connect anew, since it may have been an event',
    (text) => {
      const bench = online()
      bench.frame(text)
      expect(bench.take('abandon')).toHaveLength(1)
      expect(bench.status).toMatchObject({ state: 'offline', failure: { name: 'bad_answer' } })
      bench.retry()
      expect(bench.connection).toBe(2)
    },
  )

  it.each([
    { id: 77, code: 200, data: 1 },
    { id: 'probe', code: 200 },
    { id: 'unknown', code: 200 },
    { id: null, code: 200 },
    { event: 'never.heard.of', data: { a: 1 } },
    { event: 'never.heard.of' },
    { event: 5, data: null },
    { unknown: 'member' },
    { event: 'session.closing' },
    { event: 'session.closing', data: { code: 'x' } },
    { pos: 5 },
  ])('ignores %j', (frame) => {
    const bench = online()
    bench.frame(frame)
    expect(bench.status).toEqual({ state: 'online' })
    expect(bench.errors).toEqual([])
  })

  it.each([
    null,
    {},
    'x',
    { user_id: 'x', epoch: 'e' },
    { user_id: 5, epoch: '' },
    { user_id: 5.5, epoch: 'e' },
  ])('session.open answered with %j is no session', (data) => {
    const bench = connecting()
    bench.step({ type: 'opened', connection: 1 })
    bench.frame({ id: 'open', code: 200, data })
    expect(bench.status).toMatchObject({ state: 'offline', failure: { name: 'bad_answer' } })
  })

  it.each([-1, 0, 'x', null, 1e300])('lives with the limits %s', (value) => {
    const bench = new LinkBench()
    const limits = { ping_ms: value, max_frame: value, max_in_flight: value } as never
    bench.goOnline(limits)
    const { outcomes } = bench.call('user.profile')
    const [frame] = bench.sent()
    bench.frame({ id: frame?.id, code: 200, data: 1 })
    expect(outcomes).toMatchObject([{ type: 'answer', answer: { data: 1 } }])
    bench.pass(25_000)
    expect(bench.connection).toBe(1)
  })

  it('a part that cannot take an event makes the client connect anew before its position is kept', () => {
    const positions: string[] = []
    const bench = new LinkBench({
      part: () => ({
        event({ data }) {
          if ((data as { id: number }).id === 0) throw new Error('no such message')
        },
        pos: (pos) => void positions.push(pos),
      }),
    })
    bench.goOnline()
    bench.frame({ event: 'message.stored', data: { id: 1 }, change: 1, pos: 'p2' })
    bench.frame({ event: 'message.stored', data: { id: 0 }, change: 2, pos: 'p3' })
    expect(positions).toEqual(['p2'])
    expect(bench.status).toMatchObject({ state: 'offline', failure: { name: 'bad_answer' } })
    expect(bench.errors).toHaveLength(1)
  })
})
