import { describe, expect, it } from 'vitest'
import { openedSession } from '../../test/support/link-bench.js'
import type { ClientOptions } from '../api.js'
import type { LiveState } from '../core/live-state.js'
import { StoreError } from '../ports/store.js'
import type { ConnectionListener, UploadRequest } from '../ports/transport.js'
import { memoryStore } from '../stores/memory-store.js'
import type { CommandOutcome, Leader } from './leader.js'
import { leaderStarter } from './leader-runtime.js'

/** Runs all promises that are settled. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A leader whose ports are the test. */
class Bench {
  readonly leader: Leader
  readonly store = memoryStore()
  readonly log: string[] = []
  readonly outcomes: [string, CommandOutcome][] = []
  readonly errors: unknown[] = []
  readonly uploads: UploadRequest[] = []
  readonly sent: string[] = []
  live!: LiveState
  url = ''
  now = 0
  listener!: ConnectionListener
  wake = () => {}
  timers = 0

  constructor(options: Partial<ClientOptions> = {}) {
    const start = leaderStarter(
      {
        url: 'http://127.0.0.1:1',
        appId: 'app',
        token: () => 'token',
        onError: (error) => this.errors.push(error),
        ...options,
      },
      {
        clock: {
          now: () => this.now,
          wallTime: () => 0,
          random: () => 0.5,
          after: () => {
            this.timers++
            return () => this.timers--
          },
        },
        connect: (url, listener) => {
          this.url = url
          this.listener = listener
          this.log.push('connect')
          return {
            send: (text) => this.sent.push(text),
            abandon: (code) => this.log.push(`abandon ${code}`),
          }
        },
        upload: (request) => {
          this.uploads.push(request)
          return new Promise(() => {})
        },
        wakeups: {
          listen: (listener) => {
            this.wake = listener
            return () => this.log.push('no wakeups')
          },
        },
        platform: 'unknown',
      },
    )
    this.leader = start({
      state: { logs: [], unsent: [], cached: [] },
      store: this.store,
      generation: 0,
      listener: {
        committed: ({ meta }) => this.log.push(`committed ${meta.commit}`),
        live: (live) => {
          this.live = live
        },
        event: ({ kind }) => this.log.push(`event ${kind}`),
        done: (id, outcome) => this.outcomes.push([id, outcome]),
        failed: (failure) => this.log.push(`failed ${failure}`),
      },
    })
  }

  async goOnline(): Promise<void> {
    this.leader.connect()
    await settle()
    this.listener.open()
    this.frame({ id: 'open', code: 200, message: null, data: openedSession })
    await settle()
  }

  frame(value: object): void {
    this.listener.frame(JSON.stringify(value))
  }
}

describe('the runtime of a leader', () => {
  it('connects to the gateway of the service, and commits before it tells', async () => {
    const bench = new Bench({ url: 'https://example.org/chat' })
    await bench.goOnline()
    expect(bench.url).toBe('wss://example.org/chat/gateway')
    expect(bench.log.slice(0, 2)).toEqual(['connect', 'committed 1'])
    expect((await bench.store.load()).meta).toMatchObject({ userId: 5, epoch: 'e1' })
  })

  it('runs a command once, and gives one outcome', async () => {
    const bench = new Bench()
    await bench.goOnline()
    bench.sent.length = 0
    const command = { type: 'call', op: 'user.profile', data: {} } as const
    bench.leader.execute('c', command)
    bench.leader.execute('c', command)
    const calls = bench.sent.map((text) => JSON.parse(text)).filter(({ op }) => op === command.op)
    expect(calls).toHaveLength(1)
    bench.frame({ id: calls[0].id, code: 200, data: 1 })
    bench.frame({ id: calls[0].id, code: 200, data: 2 })
    expect(bench.outcomes).toEqual([['c', { type: 'result', value: { data: 1 } }]])
  })

  it('gives no outcome of a command that was cancelled', async () => {
    const bench = new Bench()
    bench.leader.execute('c', { type: 'call', op: 'user.profile', data: {} })
    expect(bench.outcomes).toHaveLength(1)
    await bench.goOnline()
    bench.leader.execute('d', { type: 'call', op: 'user.profile', data: {} })
    bench.leader.cancel('d')
    bench.listener.end({ code: 1006, reason: '' })
    expect(bench.outcomes).toHaveLength(1)
  })

  it('aborts a token request that is not needed any more, and ignores its token', async () => {
    const requests: { signal: AbortSignal; give: (token: string) => void }[] = []
    const bench = new Bench({
      token: ({ signal }) => new Promise((give) => requests.push({ signal, give })),
    })
    bench.leader.connect()
    bench.leader.disconnect()
    expect(requests[0]?.signal.aborted).toBe(true)
    bench.leader.connect()
    requests[0]?.give('old')
    await settle()
    expect(bench.log).toEqual([])
    requests[1]?.give('new')
    await settle()
    bench.listener.open()
    await settle()
    expect(bench.sent[0]).toContain('"access_token":"new"')
  })

  it('opens no session when another tab has taken the store over during the handshake', async () => {
    const bench = new Bench()
    bench.leader.connect()
    await settle()
    await bench.store.lead()
    bench.listener.open()
    await settle()
    expect(bench.sent).toEqual([])
    expect(bench.log.at(-1)).toBe('failed superseded')
  })

  it('opens no session when it may have been frozen since the store knew it as the leader', async () => {
    const bench = new Bench()
    const { check } = bench.store
    bench.store.check = async (generation) => {
      await check(generation)
      bench.now += 6_000
    }
    bench.leader.connect()
    await settle()
    bench.listener.open()
    await settle()
    expect(bench.sent).toEqual([])
    expect(bench.live.connection).toMatchObject({ state: 'offline' })
  })

  it('says that its session was replaced, but not when another tab of the device has done it', async () => {
    const replaced = { code: 4500, reason: 'replaced' }
    const bench = new Bench()
    await bench.goOnline()
    bench.now += 6_000
    bench.listener.end(replaced)
    await settle()
    expect(bench.live.connection).toMatchObject({ state: 'ended' })
    const frozen = new Bench()
    await frozen.goOnline()
    frozen.now += 6_000
    await frozen.store.lead()
    frozen.listener.end(replaced)
    await settle()
    expect(frozen.live.connection.state).not.toBe('ended')
    expect(frozen.log.at(-1)).toBe('failed superseded')
  })

  it('stops at once: the connection, timers and wakeups end, and what comes later is ignored', async () => {
    const bench = new Bench()
    await bench.goOnline()
    bench.log.length = 0
    bench.leader.stop()
    bench.leader.stop()
    bench.frame({ event: 'future', data: {} })
    bench.wake()
    bench.leader.connect()
    await settle()
    expect(bench.log).toEqual(['no wakeups', 'abandon 1000'])
    expect(bench.timers).toBe(0)
  })

  it.each(['superseded', 'quota', 'unavailable'] as const)(
    'stops when the store fails as %s, and says so last',
    async (failure) => {
      const bench = new Bench()
      bench.store.apply = () => Promise.reject(new StoreError(failure))
      await bench.goOnline()
      expect(bench.log.at(-1)).toBe(`failed ${failure}`)
      expect(bench.log).toContain('abandon 1000')
      expect(bench.timers).toBe(0)
      bench.leader.connect()
      await settle()
      expect(bench.log.at(-1)).toBe(`failed ${failure}`)
    },
  )

  it('takes a store that throws for one that is not available, and reports why', async () => {
    const bench = new Bench()
    bench.store.apply = () => {
      throw new Error('a fault')
    }
    await bench.goOnline()
    expect(bench.log.at(-1)).toBe('failed unavailable')
    expect(bench.errors).toEqual([new Error('a fault')])
  })

  it('survives an onError that throws', async () => {
    const bench = new Bench({
      onError: () => {
        throw new Error('in the report')
      },
    })
    bench.store.apply = () => Promise.reject(new Error('a fault'))
    await bench.goOnline()
    expect(bench.log.at(-1)).toBe('failed unavailable')
  })

  it('ends with a reason where no WebSocket can be opened, and does not try again', async () => {
    const bench = new Bench({ url: 'no address' })
    bench.leader.connect()
    await settle()
    expect(bench.live.connection).toMatchObject({
      state: 'ended',
      end: { name: 'no_web_socket', retry: false },
    })
    expect(bench.timers).toBe(0)
  })
})
