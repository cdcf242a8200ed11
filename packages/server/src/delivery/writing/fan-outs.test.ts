import { describe, expect, it } from 'vitest'
import type { Session } from '../../sessions/session.js'
import { type FanOut, FanOuts } from './fan-outs.js'

/** A session that notes what is written to it. */
function aSession(log: string[], name: string): Session & { isBehind: boolean } {
  const session = {
    ...{ id: 1, appId: 'shop', userId: 1, deviceSn: null, tokenHash: null, scopes: null },
    ...{ phase: 'live' as const, hasMissed: false, features: new Set<never>(), isBehind: false },
    link: {
      write: (frames: Buffer) => log.push(`${name} ${frames}`),
      get isBehind(): boolean {
        return session.isBehind
      },
      heardAt: 0,
      ping() {},
      close() {},
    },
  }
  return session
}

function setUp() {
  const log: string[] = []
  const turns: (() => void)[] = []
  const ended: string[] = []
  let time = 0
  let skipped = 0
  const fanOuts = new FanOuts({
    observer: { fannedOut: () => {}, skipped: () => skipped++ },
    now: () => time,
    nextTurn: (run) => turns.push(run),
    sliceMs: 2,
  })
  const start = (name: string, receivers: readonly Session[], queue: string | null = name) =>
    fanOuts.start({
      queue,
      receivers,
      frames: { all: Buffer.from(name), own: null },
      ended: () => ended.push(name),
    } satisfies FanOut)
  return {
    ...{ log, ended, fanOuts, start },
    sessions: (count: number) =>
      Array.from({ length: count }, (_, index) => aSession(log, `s${index}`)),
    pass: (ms: number) => {
      time += ms
    },
    turn: () => {
      for (const run of turns.splice(0)) run()
    },
    turns,
    skipped: () => skipped,
  }
}

describe('fan-outs', () => {
  it('a fan-out to few receivers is written at once, one to many in later turns', () => {
    const { log, ended, start, sessions, turn } = setUp()
    start('small', sessions(2))
    expect(log).toEqual(['s0 small', 's1 small'])
    expect(ended).toEqual(['small'])
    start('large', sessions(100))
    expect(ended).toEqual(['small'])
    turn()
    expect(log.length).toBe(102)
    expect(ended).toEqual(['small', 'large'])
  })

  it('a small fan-out overtakes a large one of another queue, but not of its own', () => {
    const { log, start, sessions, turn } = setUp()
    start('large', sessions(100))
    start('other', sessions(1))
    start('next', sessions(1), 'large')
    expect(log).toEqual(['s0 other'])
    turn()
    expect(log.at(-1)).toBe('s0 next')
    expect(log.indexOf('s99 large')).toBeLessThan(log.length - 1)
  })

  it('queues of fan-outs take turns, and a slice ends when its time is over', () => {
    const { log, turns, ended, fanOuts, sessions, pass, turn } = setUp()
    const [first, second] = [sessions(1_000), sessions(200)]
    for (const session of [...first, ...second]) {
      const { write } = session.link
      session.link.write = (frames) => {
        write(frames)
        pass(0.01)
      }
    }
    for (const [name, receivers] of [
      ['a', first],
      ['b', second],
    ] as const)
      fanOuts.start({
        queue: name,
        receivers,
        frames: { all: Buffer.from(name), own: null },
        ended: () => ended.push(name),
      })
    turn()
    expect(log.length).toBeGreaterThan(150)
    expect(log.length).toBeLessThan(260)
    expect(log.some((line) => line.endsWith(' b'))).toBe(true)
    while (turns.length > 0) turn()
    expect(ended).toEqual(['b', 'a'])
    expect(log.length).toBe(1_200)
  })

  it('a fan-out skips a session that is behind, and notes what others have missed', () => {
    const { log, start, sessions, skipped } = setUp()
    const [behind, entering, live] = sessions(3)
    if (!behind || !entering || !live) throw new Error('no sessions')
    behind.isBehind = true
    entering.phase = 'entering'
    start('x', [behind, entering, live])
    start('y', [behind, entering, live])
    expect(log).toEqual(['s2 x', 's2 y'])
    expect([behind, entering, live].map(({ phase, hasMissed }) => [phase, hasMissed])).toEqual([
      ['behind', true],
      ['entering', true],
      ['live', false],
    ])
    expect(skipped()).toBe(1)
  })

  it('a transient fan-out leaves a session that is behind as it is', () => {
    const { fanOuts, sessions } = setUp()
    const [session] = sessions(1)
    if (!session) throw new Error('no session')
    session.isBehind = true
    fanOuts.start({
      queue: null,
      receivers: [session],
      frames: { all: Buffer.from('t'), own: null },
      isTransient: true,
      ended() {},
    })
    expect([session.phase, session.hasMissed]).toEqual(['live', false])
  })

  it('a fan-out writes the own frames of a user to the sessions of that user', () => {
    const { log, fanOuts, sessions } = setUp()
    const [mine, other] = sessions(2) as unknown as [Session, Session]
    fanOuts.start({
      queue: null,
      receivers: [mine, { ...other, userId: 2 }],
      frames: { all: Buffer.from('all'), own: new Map([[1, Buffer.from('own')]]) },
      ended() {},
    })
    expect(log).toEqual(['s0 own', 's1 all'])
  })

  it('fan-outs are full while too many wait, and report when there is room', () => {
    const { fanOuts, start, sessions, turn } = setUp()
    const many = sessions(65)
    for (let count = 0; count <= 2_001; count++) start('a', many)
    expect(fanOuts.isFull).toBe(true)
    let hasRoom = false
    fanOuts.whenRoom(() => {
      hasRoom = true
    })
    turn()
    expect(hasRoom).toBe(true)
    expect(fanOuts.isFull).toBe(false)
  })

  it('transient fan-outs are dropped while many of their queue wait', () => {
    const { log, ended, fanOuts, sessions, turn, turns } = setUp()
    const receivers = sessions(100)
    const frames = { all: Buffer.from('typing'), own: null }
    for (let count = 0; count < 500; count++)
      fanOuts.start({
        ...{ queue: 'signals', receivers, frames, isTransient: true },
        ended: () => ended.push('typing'),
      })
    expect(ended).toHaveLength(500 - 16)
    while (turns.length > 0) turn()
    expect([log.length, ended.length]).toEqual([1_600, 500])
  })
})
