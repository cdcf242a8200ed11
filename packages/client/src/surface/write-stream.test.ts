import { expect, it } from 'vitest'
import type { StreamOptions, StreamSource } from '../api.js'
import { ClientError } from '../errors.js'
import type { Clock } from '../ports/clock.js'
import type { Caller } from './caller.js'
import { takePiece, writeStream } from './write-stream.js'

type Members = Readonly<Record<string, unknown>>

/** A service that takes appends, and a clock whose timers run at once. */
class Service {
  readonly pieces: Members[] = []
  /** Runs before an append; what it returns is added to the answer. */
  before: (piece: Members) => Members = () => ({})
  /** What `message.get` says. */
  stored: Members = {}
  #now = 0
  readonly clock: Clock = {
    now: () => this.#now,
    wallTime: () => 0,
    random: () => 0.5,
    after: (ms, run) => {
      const timer = setImmediate(() => {
        this.#now += ms
        run()
      })
      return () => clearImmediate(timer)
    },
  }

  write(source: StreamSource, options: StreamOptions = {}) {
    const target = { id: 9, type: 1 }
    return writeStream(
      source,
      { call: this.#call as Caller, clock: this.clock, target, transactionId: 7 },
      options,
    )
  }

  get text(): string {
    return this.pieces.map(({ text }) => text).join('')
  }

  readonly #call = async (op: string, data: unknown) => {
    const members = data as Members
    if (op === 'message.get') return { data: { message: { stream: this.stored } } }
    if (op === 'message.send') {
      expect(members).toMatchObject({ transaction_id: 7, targets: [9], stream: { kind: 'text' } })
      return { data: true, msg_ids: [31] }
    }
    const more = this.before(members)
    const last = this.pieces.at(-1)
    if (last?.index !== members.index) this.pieces.push(members)
    return { data: { next_index: Number(members.index) + 1, length: 0, cancel: false, ...more } }
  }
}

async function* texts(...all: string[]): AsyncGenerator<string> {
  for (const text of all) {
    await new Promise((resolve) => setImmediate(resolve))
    yield text
  }
}

const failure = (name: 'not_connected' | 'message_too_large', retry: boolean) =>
  new ClientError({ code: 1, name, message: name, retry })

it('stream: all texts are appended with dense indexes, and the last piece ends it', async () => {
  const service = new Service()
  expect(await service.write(texts('One ', 'two ', 'three'))).toEqual({ id: 31, state: 'done' })
  expect(service.text).toBe('One two three')
  expect(service.pieces.map(({ index }) => index)).toEqual(service.pieces.map((_, at) => at + 1))
  expect(service.pieces.at(-1)).toMatchObject({ msg_id: 31, end: { state: 'done' } })
  expect(service.pieces.filter(({ end }) => end)).toHaveLength(1)
})

it('stream: an append without an answer is repeated as it was', async () => {
  const service = new Service()
  let failures = 2
  service.before = () => {
    if (failures-- > 0) throw failure('not_connected', true)
    return {}
  }
  await service.write(['all at once'])
  expect(service.text).toBe('all at once')
})

it('stream: pieces that the service has lost are appended again', async () => {
  const service = new Service()
  let isLost = false
  service.before = ({ index }) => {
    if (index === 3 && !isLost) {
      isLost = true
      service.pieces.length = 1
    }
    const nextIndex = service.pieces.length + 1
    if (Number(index) <= nextIndex) return {}
    throw new ClientError({
      ...{ code: 13012, name: 'stream_refused', message: 'stream index or state', retry: false },
      stream: { nextIndex, state: 'open' },
    })
  }
  expect(await service.write(texts('One ', 'two ', 'three'))).toMatchObject({ state: 'done' })
  expect(service.text).toBe('One two three')
})

it('stream: one that was ended meanwhile leaves the source, and says how it stands', async () => {
  const service = new Service()
  const stream = { nextIndex: 2, state: 'interrupted' } as const
  service.before = ({ index }) => {
    if (index === 1) return {}
    const refusal = { code: 13012, message: 'stream index or state', retry: false, stream }
    throw new ClientError({ ...refusal, name: 'stream_refused' })
  }
  await expect(service.write(texts('One ', 'two ', 'three'))).rejects.toMatchObject({ stream })
})

it('stream: a second call with the same transaction ID continues an open message', async () => {
  const service = new Service()
  service.stored = { state: 'open', next_index: 3, text: 'One two ' }
  const rest = ({ text }: { readonly text: string }) => texts(text === 'One two ' ? 'three' : text)
  expect(await service.write(rest, { transactionId: 7 })).toEqual({ id: 31, state: 'done' })
  expect(service.text).toBe('three')
  expect(service.pieces[0]).toMatchObject({ index: 3 })
})

it('stream: a second call for a message that has ended leaves it as it is', async () => {
  const service = new Service()
  const unused = () => expect.fail('the source has begun')
  service.stored = { state: 'cancelled' }
  const written = await service.write(unused, { transactionId: 7 })
  expect([written, service.pieces]).toEqual([{ id: 31, state: 'cancelled' }, []])
  const stream = { nextIndex: 2, state: 'interrupted' } as const
  service.stored = { state: 'interrupted' }
  service.before = () => {
    const refusal = { code: 13012, message: 'stream index or state', retry: false, stream }
    throw new ClientError({ ...refusal, name: 'stream_refused' })
  }
  const again = service.write(unused, { transactionId: 7 })
  await expect(again).rejects.toMatchObject({ stream })
})

it('stream: a source that its signal ends after a reader has asked to stop is no failure', async () => {
  const service = new Service()
  service.before = () => ({ cancel: true })
  async function* endless({ signal }: { readonly signal: AbortSignal }) {
    yield 'more '
    await new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }
  expect(await service.write(endless)).toEqual({ id: 31, state: 'cancelled' })
  expect(service.pieces.at(-1)).toMatchObject({ end: { state: 'cancelled' } })
})

it('stream: a reader who asks to stop ends it, and the source is left', async () => {
  const service = new Service()
  let isLeft = false
  async function* endless() {
    try {
      for (;;) yield* texts('more ')
    } finally {
      isLeft = true
    }
  }
  service.before = ({ index }) => ({ cancel: Number(index) >= 3 })
  expect(await service.write(endless())).toEqual({ id: 31, state: 'cancelled' })
  expect(service.pieces.at(-1)).toMatchObject({ end: { state: 'cancelled' } })
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(isLeft).toBe(true)
})

it('stream: an error of the source ends it as failed, and is thrown', async () => {
  const service = new Service()
  async function* broken() {
    yield 'half'
    throw new Error('no quota')
  }
  await expect(service.write(broken())).rejects.toThrow('no quota')
  expect(service.text).toBe('half')
  expect(service.pieces.at(-1)).toMatchObject({ end: { state: 'failed' } })
})

it('stream: a piece that is no text ends it as failed', async () => {
  const service = new Service()
  const source = ['half', undefined] as string[]
  await expect(service.write(source)).rejects.toThrow('each piece of source must be a text')
  expect(service.text).toBe('half')
  expect(service.pieces.at(-1)).toMatchObject({ end: { state: 'failed' } })
})

it('stream: a text that is too long ends with what was taken', async () => {
  const service = new Service()
  service.before = ({ text }) => {
    if (String(text).includes('too much')) throw failure('message_too_large', false)
    return {}
  }
  await expect(service.write(texts('fits', 'too much'))).rejects.toThrow('message_too_large')
  expect(service.pieces.at(-1)).toMatchObject({ text: '', end: { reason: 'message_too_large' } })
})

it('stream: a source without an end is read as fast as it is written, and left when the message is full', async () => {
  const service = new Service()
  let read = 0
  let isLeft = false
  function* endless(): Generator<string> {
    try {
      for (;;) {
        read += 1_000
        yield 'x'.repeat(1_000)
      }
    } finally {
      isLeft = true
    }
  }
  service.before = ({ index, text }) => {
    expect(read - Number(index) * 2_700).toBeLessThan(70_000)
    if (index === 20 && text !== '') throw failure('message_too_large', false)
    return {}
  }
  await expect(service.write(endless())).rejects.toThrow('message_too_large')
  expect(service.pieces.at(-1)).toMatchObject({ text: '', end: { reason: 'message_too_large' } })
  expect(service.pieces).toHaveLength(20)
  await expect.poll(() => isLeft).toBe(true)
})

it('stream: an aborted signal ends it as cancelled', async () => {
  const service = new Service()
  const abort = new AbortController()
  service.before = () => {
    abort.abort()
    return {}
  }
  const writing = service.write(texts('one', 'two', 'three', 'four'), { signal: abort.signal })
  await expect(writing).rejects.toMatchObject({ name: 'aborted' })
  expect(service.pieces.at(-1)).toMatchObject({ end: { state: 'cancelled' } })
})

it('stream: pieces split no surrogate pair, and halves are replaced', () => {
  const pair = '🙂'
  const long = 'x'.repeat(2_699) + pair
  expect(takePiece(long, false)).toEqual(['x'.repeat(2_699), pair])
  expect(takePiece(`a${pair.charAt(0)}`, false)).toEqual(['a', pair.charAt(0)])
  expect(takePiece(`a${pair.charAt(0)}`, true)).toEqual(['a\ufffd', ''])
  expect(takePiece(`${pair.charAt(1)}b`, false)).toEqual(['\ufffdb', ''])
})
