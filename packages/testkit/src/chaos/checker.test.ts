import { describe, expect, it } from 'vitest'
import { checkHistory, type ViolationKind } from './checker.js'
import {
  History,
  type HistoryEntry,
  type HistoryValues,
  type Placed,
  parseHistory,
} from './history.js'

/** A history that a test writes: each entry is a millisecond after the one before. */
class Script {
  readonly entries: HistoryEntry[] = []

  add<F extends keyof HistoryValues>(
    process: string,
    type: HistoryEntry['type'],
    f: F,
    value: HistoryValues[F],
  ): this {
    this.entries.push({ process, type, f, value, time: this.entries.length } as HistoryEntry)
    return this
  }

  call<F extends keyof HistoryValues>(
    process: string,
    f: F,
    invoked: HistoryValues[F],
    answered: HistoryValues[F] = invoked,
  ): this {
    return this.add(process, 'invoke', f, invoked).add(process, 'ok', f, answered)
  }

  send(text: string): this {
    return this.call('alice', 'send', { conversation, text })
  }

  read(messages: readonly Placed[], isNewest = true): this {
    return this.call('bob', 'read', { conversation }, { conversation, messages, isNewest })
  }

  position(seq: number): this {
    const value = { conversation, reader: 'bob' }
    return this.call('reader', 'position', value, { ...value, seq })
  }

  event(position: number, text: string, seq = position): this {
    const stored = { conversation, seq, text }
    return this.add('hook', 'ok', 'event', { id: `evt_${position}`, key: 'd:1', position, stored })
  }

  final(...texts: string[]): this {
    return this.finalAt(texts.map((text, index) => ({ seq: index + 1, text })))
  }

  finalAt(messages: readonly Placed[]): this {
    return this.add('end', 'ok', 'final', { conversation, messages })
  }

  get kinds(): ViolationKind[] {
    return checkHistory(this.entries).violations.map(({ kind }) => kind)
  }
}

const conversation = 'alice and bob'
const placed = (seq: number, text: string): Placed => ({ seq, text })

describe('checkHistory', () => {
  it('accepts a history of a correct service', () => {
    const script = new Script()
      .send('a')
      .read([placed(1, 'a')])
      .send('b')
      .add('carol', 'ok', 'receive', { conversation, ...placed(2, 'b') })
      .read([placed(1, 'a'), placed(2, 'b')])
      .call('bob', 'mark', { conversation, reader: 'bob', seq: 1 })
      .position(1)
      .position(2)
      .event(1, 'a')
      .event(2, 'b')
      .event(1, 'a')
      .add('gateway', 'ok', 'push', { device: 'phone', text: 'a' })
      .add('gateway', 'ok', 'push', { device: 'phone', text: 'b' })
      .add('phone', 'info', 'absent', { device: 'phone', conversation })
      .final('a', 'b')
    expect(checkHistory(script.entries)).toEqual({
      violations: [],
      counts: {
        invocations: 7,
        ok: 7,
        failed: 0,
        info: 0,
        received: 1,
        events: 3,
        pushes: 2,
        doubtful: 0,
      },
    })
  })

  it('accepts a send without an answer that is stored, and one that is not', () => {
    const pending = (text: string) =>
      new Script().add('alice', 'invoke', 'send', { conversation, text })
    expect(pending('a').final('a').kinds).toEqual([])
    expect(pending('a').final().kinds).toEqual([])
    const unknown = pending('a').add('alice', 'info', 'send', { conversation, text: 'a' })
    expect(unknown.send('b').final('b', 'a').kinds).toEqual([])
    expect(checkHistory(unknown.entries).counts).toMatchObject({ invocations: 2, ok: 1, info: 1 })
  })

  it('accepts either order of sends at the same time', () => {
    const atOnce = () =>
      new Script()
        .add('alice', 'invoke', 'send', { conversation, text: 'a' })
        .add('bob', 'invoke', 'send', { conversation, text: 'b' })
        .add('alice', 'ok', 'send', { conversation, text: 'a' })
        .add('bob', 'ok', 'send', { conversation, text: 'b' })
    expect(atOnce().final('a', 'b').kinds).toEqual([])
    expect(atOnce().final('b', 'a').kinds).toEqual([])
  })

  const planted: readonly (readonly [string, Script, ViolationKind])[] = [
    ['an answered send that is not stored', new Script().send('a').final(), 'lost'],
    ['a message that is stored twice', new Script().send('a').final('a', 'a'), 'doubled'],
    ['a message that nobody sent', new Script().final('a'), 'phantom'],
    [
      'a message whose send was refused',
      new Script()
        .add('alice', 'invoke', 'send', { conversation, text: 'a' })
        .add('alice', 'fail', 'send', { conversation, text: 'a' })
        .final('a'),
      'phantom',
    ],
    [
      'a message in another conversation than it was sent to',
      new Script()
        .call('alice', 'send', { conversation: 'alice and carol', text: 'a' })
        .final('a')
        .add('end', 'ok', 'final', { conversation: 'alice and carol', messages: [] }),
      'phantom',
    ],
    [
      'a send before one that was answered before it began',
      new Script().send('a').send('b').final('b', 'a'),
      'reordered',
    ],
    [
      'a page in another order than the conversation',
      new Script()
        .add('alice', 'invoke', 'send', { conversation, text: 'a' })
        .add('carol', 'invoke', 'send', { conversation, text: 'b' })
        .read([placed(1, 'b'), placed(2, 'a')])
        .final('a', 'b'),
      'reordered',
    ],
    [
      'a received message that is not at its position',
      new Script()
        .send('a')
        .add('bob', 'ok', 'receive', { conversation, ...placed(2, 'a') })
        .final('a'),
      'reordered',
    ],
    [
      'a received message that was never sent',
      new Script()
        .send('a')
        .add('bob', 'ok', 'receive', { conversation, ...placed(2, 'x') })
        .final('a'),
      'phantom',
    ],
    ['a position that is left out', new Script().send('a').finalAt([placed(2, 'a')]), 'gap'],
    [
      'a page with a hole',
      new Script()
        .send('a')
        .send('b')
        .send('c')
        .read([placed(1, 'a'), placed(3, 'c')])
        .final('a', 'b', 'c'),
      'gap',
    ],
    [
      'a read without a message that was answered before',
      new Script()
        .send('a')
        .send('b')
        .read([placed(1, 'a')])
        .final('a', 'b'),
      'stale',
    ],
    [
      'a read without a message that an earlier read had',
      new Script()
        .add('alice', 'invoke', 'send', { conversation, text: 'a' })
        .read([placed(1, 'a')])
        .read([])
        .final('a'),
      'stale',
    ],
    [
      'a read position below the one that was set',
      new Script().call('bob', 'mark', { conversation, reader: 'bob', seq: 2 }).position(1).final(),
      'position_back',
    ],
    [
      'a read position below the one that was read',
      new Script().position(2).position(1).final(),
      'position_back',
    ],
    [
      'an event after a later one of its key',
      new Script().send('a').send('b').event(2, 'b').event(1, 'a').final('a', 'b'),
      'event_order',
    ],
    [
      'an event of a message at another position',
      new Script().send('a').event(1, 'a', 2).final('a'),
      'reordered',
    ],
    [
      'a message without an event',
      new Script().send('a').send('b').event(1, 'a').final('a', 'b'),
      'event_missing',
    ],
    [
      'a message after which no push came',
      new Script()
        .send('a')
        .send('b')
        .add('gateway', 'ok', 'push', { device: 'phone', text: 'a' })
        .add('phone', 'info', 'absent', { device: 'phone', conversation })
        .final('a', 'b'),
      'push_missing',
    ],
  ]
  it.each(planted)('finds %s', (_, script, kind) => {
    expect(new Set(script.kinds)).toEqual(new Set([kind]))
  })

  describe('with a database that lost commits', () => {
    /** Sends `b`, which is lost with what `seen` records, and then goes on with `c`. */
    const lossy = (seen: (script: Script) => Script, from: number) => {
      const script = seen(new Script().send('a').send('b'))
      const killedAt = script.entries.length - 1
      const wellAt = script.add('nodes', 'info', 'fault', { kind: 'promotion' }).entries.length
      return script.add('harness', 'info', 'loss', { from, killedAt, wellAt }).send('c')
    }

    it('accepts that answered sends, and what was seen of them, are gone', () => {
      const script = lossy(
        (each) =>
          each
            .read([placed(1, 'a'), placed(2, 'b')])
            .add('bob', 'ok', 'receive', { conversation, ...placed(2, 'b') })
            .position(2)
            .event(1, 'a')
            .event(2, 'b'),
        2,
      )
      script
        .read([placed(1, 'a'), placed(2, 'c')])
        .position(1)
        .event(2, 'c')
      script.final('a', 'c')
      expect(script.kinds).toEqual([])
      expect(checkHistory(script.entries).counts.doubtful).toBe(1)
    })

    it('finds the loss of a send that was safe before', () => {
      expect(lossy((each) => each, 2).final('c').kinds).toEqual(['lost'])
    })

    it('finds the loss of a later send', () => {
      expect(lossy((each) => each, 2).final('a', 'b').kinds).toEqual(['lost'])
    })

    it('finds a message that was never sent', () => {
      const script = lossy((each) => each.read([placed(1, 'a'), placed(2, 'x')]), 2)
      expect(script.final('a', 'c').kinds).toEqual(['phantom'])
    })
  })

  it('checks 100,000 entries in time that grows with their number', () => {
    const script = new Script()
    const texts = Array.from({ length: 25_000 }, (_, index) => `text ${index}`)
    texts.forEach((text, index) => {
      script.send(text).read([placed(index + 1, text)])
    })
    const begun = performance.now()
    expect(script.final(...texts).kinds).toEqual([])
    expect(performance.now() - begun).toBeLessThan(5_000)
  })
})

describe('History', () => {
  it('writes each entry as a line, which parseHistory reads', () => {
    const history = new History()
    history.record('alice', 'invoke', 'send', { conversation, text: 'a' })
    history.record('alice', 'ok', 'send', { conversation, text: 'a' })
    expect(history.entries.map(({ type }) => type)).toEqual(['invoke', 'ok'])
    expect(parseHistory(history.toNdjson())).toEqual(history.entries)
  })
})
