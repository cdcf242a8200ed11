import { expect, it, vi } from 'vitest'
import {
  aLog,
  aMessage,
  FakeSession,
  me,
  settled,
  upload,
} from '../../test/support/fake-session.js'
import type { Client, ClientOptions, Message } from '../api.js'
import { createClientOn } from '../create-client.js'
import type { Command } from '../core/inputs.js'
import { addRange } from '../core/ranges.js'
import { ClientError, notConnected } from '../errors.js'
import { emptyMeta, type LogKey, type SeqRange } from '../model/records.js'

const options: ClientOptions = { url: 'https://chat.example', appId: 'app', token: () => 'secret' }

/** A client and what its listener has heard. */
class Bench {
  readonly onError = vi.fn()
  readonly session = new FakeSession({ onError: this.onError })
  readonly timers: (() => void)[] = []
  readonly heard: string[] = []
  readonly client = createClientOn(
    this.session,
    { ...options, onError: this.onError },
    {
      clock: {
        now: () => 0,
        wallTime: () => 0,
        after: (_ms, run) => {
          this.timers.push(run)
          return () => {}
        },
        random: () => 0.5,
      },
      upload,
    },
  )

  /** Listens, and notes the messages as `conversation: text`. */
  listen(
    more: Parameters<Client['onMessage']>[1] = {},
    then: (message: Message) => void = () => {},
  ) {
    return this.client.onMessage((message, { kind, id }) => {
      this.heard.push(`${kind} ${id}: ${message.text}`)
      then(message)
    }, more)
  }

  /** Messages 1 to `seq` of a log, of which the store has those of the ranges. */
  grow(key: LogKey, seq: number, ranges: readonly SeqRange[] = [[1, seq]], changes = {}) {
    this.session.apply({ logs: [this.session.fill(key, seq, { ranges, ...changes })] })
  }

  /** Answers histories from what the server has: pages of at most `size` messages. */
  answerHistory(size = 100): void {
    this.session.answer = (command: Command) => {
      if (command.type !== 'history') return undefined
      const { log: key, beforeSeq } = command
      const fromSeq = Math.max(1, beforeSeq - size)
      const log = this.session.state.logs.get(key)
      const ranges = addRange(log?.ranges ?? [], fromSeq, beforeSeq - 1)
      for (let seq = fromSeq; seq < beforeSeq; seq++)
        this.session.stored.set(`${key} ${seq}`, aMessage(key, seq))
      this.session.apply({ logs: [{ ...aLog(key), ...log, ranges }] })
      return { fromSeq }
    }
  }
}

const texts = (key: string, from: number, to: number) =>
  Array.from({ length: to + 1 - from }, (_, index) => `${key}: message ${from + index}`)

it('onMessage: what is there already is not new; each later message is heard once', async () => {
  const bench = new Bench()
  bench.grow('d1.9', 3)
  const end = bench.listen()
  await settled()
  expect(bench.heard).toEqual([])
  bench.grow('d1.9', 4)
  bench.grow('d1.9', 6)
  await settled()
  bench.session.setLive({ connection: { state: 'offline' } })
  bench.session.setLive({ connection: { state: 'online' } })
  await settled()
  expect(bench.heard).toEqual(texts('direct 9', 4, 6))
  end()
  bench.grow('d1.9', 7)
  await settled()
  expect(bench.heard).toHaveLength(3)
})

it('onMessage: what was missed is heard when the client is current, holes of the store included', async () => {
  const bench = new Bench()
  bench.grow('d1.9', 3)
  bench.listen()
  bench.session.setLive({ connection: { state: 'syncing' } })
  bench.answerHistory(50)
  bench.grow('d1.9', 400, [
    [1, 3],
    [381, 400],
  ])
  await settled()
  expect(bench.heard).toEqual([])
  bench.session.setLive({ connection: { state: 'online' } })
  await vi.waitFor(() => expect(bench.heard).toHaveLength(397))
  expect(bench.heard).toEqual(texts('direct 9', 4, 400))
})

it('onMessage: a client without a store begins at the end of the first list, or at what is unread', async () => {
  for (const unread of [false, true]) {
    const bench = new Bench()
    bench.session.apply({ meta: { ...emptyMeta, userId: me } })
    bench.session.setLive({ connection: { state: 'syncing' } })
    bench.listen({ unread })
    bench.session.apply({
      meta: { ...emptyMeta, userId: me, pos: 'p', listCursor: 'c' },
      logs: [bench.session.fill('d1.9', 3, { readSeq: 1, unread: 2 })],
    })
    bench.session.setLive({ connection: { state: 'online' } })
    bench.session.apply({
      meta: { ...emptyMeta, userId: me, pos: 'p' },
      logs: [bench.session.fill('g7', 2, { readSeq: 2 })],
    })
    await settled()
    expect(bench.heard, `unread: ${unread}`).toEqual(unread ? texts('direct 9', 2, 3) : [])
    bench.grow('g7', 3)
    await settled()
    expect(bench.heard.at(-1)).toBe('group 7: message 3')
  }
})

it('onMessage: an app that keeps its positions goes on after them, read or not', async () => {
  const bench = new Bench()
  bench.grow('d1.9', 5, [[1, 5]], { readSeq: 5 })
  bench.grow('g7', 2, [[1, 2]], { readSeq: 2 })
  bench.grow('d1.8', 3, [[1, 3]], { readSeq: 1, unread: 2 })
  const positions = new Map([
    ['direct 9', 3],
    ['group 7', 40],
  ])
  bench.listen({ unread: true, after: ({ kind, id }) => positions.get(`${kind} ${id}`) })
  await settled()
  bench.grow('g7', 3)
  await settled()
  const missed = [...texts('direct 9', 4, 5), ...texts('direct 8', 2, 3)]
  expect(bench.heard).toEqual([...missed, ...texts('group 7', 3, 3)])
})

it('onMessage: a new conversation begins at its first message, a group after the join', async () => {
  const bench = new Bench()
  bench.listen()
  bench.answerHistory(4)
  bench.grow('d1.9', 2)
  bench.grow('g7', 12, [[11, 12]], { joinedMsgId: 90 })
  await settled()
  expect(bench.heard).toEqual([...texts('direct 9', 1, 2), ...texts('group 7', 10, 12)])
})

it('onMessage: a reset of the store repeats nothing', async () => {
  const bench = new Bench()
  bench.grow('d1.9', 3)
  bench.listen()
  bench.session.apply({ isReset: true, meta: { ...emptyMeta, userId: me } })
  bench.session.apply({
    meta: { ...emptyMeta, userId: me, pos: 'q' },
    logs: [bench.session.fill('d1.9', 5)],
  })
  await settled()
  expect(bench.heard).toEqual(texts('direct 9', 4, 5))
})

it('onMessage: own messages are not heard', async () => {
  const bench = new Bench()
  bench.grow('d1.9', 1)
  bench.listen()
  const record = bench.session.fill('d1.9', 3)
  bench.session.apply({
    logs: [record],
    messages: [aMessage('d1.9', 2, { senderId: me, content: 'mine' })],
  })
  await settled()
  expect(bench.heard).toEqual(['direct 9: message 3'])
})

it('onMessage: a history that cannot be read is tried again later', async () => {
  const bench = new Bench()
  bench.grow('d1.9', 1)
  bench.listen()
  bench.session.answer = (command) => {
    if (command.type === 'history') throw new ClientError({ ...notConnected, name: 'unavailable' })
  }
  bench.grow('d1.9', 3, [
    [1, 1],
    [3, 3],
  ])
  await settled()
  expect(bench.heard).toEqual([])
  bench.answerHistory()
  bench.timers.at(-1)?.()
  await settled()
  expect(bench.heard).toEqual(texts('direct 9', 2, 3))
})

it('onMessage: an error of a listener, also of an async one, is reported and loses no message', async () => {
  const bench = new Bench()
  bench.grow('d1.9', 1)
  bench.listen({}, () => {
    throw new Error('mine')
  })
  bench.client.onMessage(async () => {
    throw new Error('later')
  })
  bench.grow('d1.9', 3)
  await settled()
  expect(bench.heard).toHaveLength(2)
  expect(bench.onError).toHaveBeenCalledTimes(4)
})
