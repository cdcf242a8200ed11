import type { StreamOptions, StreamSource, WrittenStream } from '../api.js'
import { membersOf } from '../core/logs/wire.js'
import { badAnswer, ClientError, failureOf, type StreamPosition } from '../errors.js'
import type { Clock } from '../ports/clock.js'
import { checkText } from './arguments.js'
import type { Caller } from './caller.js'

/** The means to write a stream. */
export interface StreamWriter {
  readonly call: Caller
  readonly clock: Clock
  readonly target: { readonly id: number; readonly type: number }
  readonly transactionId: number
}

/** The end of a stream, as the service takes it. */
interface StreamEnd {
  readonly state: WrittenStream['state']
  readonly reason?: string
}

/** The state of a message when its source begins. */
interface StreamStart extends StreamPosition {
  readonly text: string
}

const newStream: StreamStart = { state: 'open', nextIndex: 1, text: '' }

/** The index of no piece. */
const noIndex = 2 ** 31
/** The time between two appends: the pace that the service allows. */
const paceMs = 200
/** After this time without text a sign of life is sent. */
const aliveMs = 10_000
/** Any 2,700 units have at most 8,192 bytes, which an append may have. */
const maxUnits = 2_700
/** The text that waits for appends before the source is read on: more than fits in a message. */
const maxWaitingUnits = 65_536
/** The time for which a call is repeated; the service ends a silent stream after it. */
const patienceMs = 30_000

/**
 * Sends a message and appends the texts of a source to it, as they come.
 * @throws ClientError when the service refuses; the error of the source, after the end of the stream
 */
export async function writeStream(
  source: StreamSource,
  { call, clock, target: { id, type }, transactionId }: StreamWriter,
  { kind = 'text', placeholder = '…', signal, ...options }: StreamOptions,
): Promise<WrittenStream> {
  let pending = ''
  /** Pieces of this call by index. */
  const pieces = new Map<number, string>()
  const leaving = new AbortController()
  let end: StreamEnd | undefined
  let problem: { readonly error: unknown } | undefined
  let wake: () => void = () => {}
  let readOn: () => void = () => {}
  const stop = (by: StreamEnd, error?: unknown) => {
    end ??= by
    if (error !== undefined) problem ??= { error }
    if (end.state !== 'done') leaving.abort()
    wake()
    readOn()
  }
  const abort = () =>
    stop({ state: 'cancelled' }, new ClientError(failureOf('aborted', 'the signal was aborted')))
  const content = { targets: [id], type, content_type: 0, content: placeholder, stream: { kind } }
  const { msg_ids: ids } = await repeated(clock, () =>
    call(
      'message.send',
      { ...content, transaction_id: transactionId } as never,
      signal ? { signal } : {},
    ),
  )
  const [messageId] = (ids ?? []) as readonly number[]
  if (!messageId) throw new ClientError(badAnswer('message.send'))
  const start = options.transactionId === undefined ? newStream : await readStart(messageId)
  const { state } = start
  if (state === 'done' || state === 'failed' || state === 'cancelled')
    return { id: messageId, state }
  // The service refuses it with the state.
  if (state !== 'open') await append(start.nextIndex, '')

  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort)
  const reading = read()
  try {
    for (let index = start.nextIndex; ; index++) {
      const isReady = () => pending !== '' || end !== undefined
      if (!isReady()) await waitFor(aliveMs)
      const [text, rest] = takePiece(pending, end !== undefined)
      pieces.set(index, text)
      pending = end && end.state !== 'done' ? '' : rest
      if (pending.length <= maxWaitingUnits) readOn()
      const last = end && pending === '' ? end : undefined
      if (await append(index, text, last)) break
      if (!last) await waitFor(paceMs, true)
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    stop({ state: 'failed' })
  }
  void reading
  if (problem) throw problem.error
  return { id: messageId, state: end?.state ?? 'done' }

  async function read(): Promise<void> {
    try {
      const { text: written } = start
      const texts =
        typeof source === 'function' ? source({ text: written, signal: leaving.signal }) : source
      for await (const text of texts) {
        if (end) return
        checkText('each piece of source', text, { isEmptyAllowed: true })
        pending += text
        wake()
        if (pending.length > maxWaitingUnits)
          await new Promise<void>((resolve) => {
            readOn = resolve
          })
      }
      stop({ state: 'done' })
    } catch (error) {
      // A source that was left fails by its signal.
      if (!end) stop({ state: 'failed' }, error)
    }
  }

  /** @returns true: the stream has ended */
  async function append(index: number, text: string, last?: StreamEnd): Promise<boolean> {
    const piece = { conversation_id: id, type, msg_id: messageId, index, text }
    try {
      const { data } = await repeated(clock, () =>
        call('message.stream.append', { ...piece, ...(last && { end: last }) } as never),
      )
      if ((data as { readonly cancel?: boolean }).cancel) stop({ state: 'cancelled' })
      return last !== undefined
    } catch (error) {
      const stream = error instanceof ClientError ? error.stream : undefined
      if (stream?.state === 'open' && stream.nextIndex < index && pieces.has(stream.nextIndex)) {
        // The service has lost pieces, such as one that was restored from a backup.
        for (let lost = stream.nextIndex; lost < index; lost++)
          await append(lost, pieces.get(lost) ?? '')
        return append(index, text, last)
      }
      const isTooLong = error instanceof ClientError && error.name === 'message_too_large'
      if (!isTooLong || text === '') throw error
      // The text so far stays.
      pending = ''
      problem ??= { error }
      end = { state: 'failed', reason: error.name }
      return append(index, '', end)
    }
  }

  /** Reads how the message stands, which an earlier call may have begun. */
  async function readStart(msg_id: number): Promise<StreamStart> {
    const query = { conversation_id: id, msg_id }
    const { data } = await repeated(clock, () => call('message.get', query as never))
    const { message, recalled } = membersOf(data)
    if (recalled) return { ...newStream, state: 'recalled' }
    const { state, next_index, text } = membersOf(membersOf(message).stream)
    if (typeof state !== 'string') throw new ClientError(badAnswer('message.get'))
    return {
      state: state as StreamPosition['state'],
      nextIndex: Number(next_index ?? noIndex),
      text: String(text ?? ''),
    }
  }

  /** @param isFixed false: also ends when there is text, or the end */
  function waitFor(ms: number, isFixed = false): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve)
      if (!isFixed)
        wake = () => {
          cancel()
          resolve()
        }
    })
  }
}

/** Repeats a call while it may succeed. */
async function repeated<T>(clock: Clock, run: () => Promise<T>): Promise<T> {
  const until = clock.now() + patienceMs
  for (;;)
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof ClientError) || !error.retry || clock.now() >= until) throw error
      const { retryAfterMs = paceMs } = error
      await new Promise<void>((resolve) => void clock.after(retryAfterMs, resolve))
    }
}

/**
 * Takes the next piece of a text; it splits no surrogate pair.
 * @param isWhole true: no more text follows
 */
export function takePiece(text: string, isWhole: boolean): [piece: string, rest: string] {
  const end = Math.min(text.length, maxUnits)
  const isSplit = /[\ud800-\udbff]/.test(text.charAt(end - 1))
  const at = isSplit && !(isWhole && end === text.length) ? end - 1 : end
  const halves = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
  return [text.slice(0, at).replace(halves, '\ufffd'), text.slice(at)]
}
