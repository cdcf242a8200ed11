import type { StreamOptions, WrittenStream } from '../api.js'
import { badAnswer, ClientError, failureOf } from '../errors.js'
import type { Clock } from '../ports/clock.js'
import type { Caller } from './caller.js'

/** What a stream is written with. */
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

/** The time between two appends: the pace that the service allows. */
const paceMs = 200
/** After this time without text a sign of life is sent. */
const aliveMs = 10_000
/** Any 2,700 units have at most 8,192 bytes, which an append may have. */
const maxUnits = 2_700
/** The time for which a call is repeated; the service ends a silent stream after it. */
const patienceMs = 30_000

/**
 * Sends a message and appends the texts of a source to it, as they come.
 * @throws ClientError when the service refuses; the error of the source, after the end of the stream
 */
export async function writeStream(
  source: AsyncIterable<string> | Iterable<string>,
  { call, clock, target: { id, type }, transactionId }: StreamWriter,
  { kind = 'text', placeholder = '…', signal }: StreamOptions,
): Promise<WrittenStream> {
  let pending = ''
  /** All pieces so far, the first has index 1. */
  const pieces: string[] = []
  let end: StreamEnd | undefined
  let problem: { readonly error: unknown } | undefined
  let wake: () => void = () => {}
  const stop = (by: StreamEnd, error?: unknown) => {
    end ??= by
    if (error !== undefined) problem ??= { error }
    wake()
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

  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort)
  const reading = read()
  try {
    for (let index = 1; ; index++) {
      const isReady = () => pending !== '' || end !== undefined
      if (!isReady()) await waitFor(aliveMs)
      const [text, rest] = takePiece(pending, end !== undefined)
      pieces.push(text)
      pending = end && end.state !== 'done' ? '' : rest
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
      for await (const text of source) {
        if (end) return
        pending += text
        wake()
      }
      stop({ state: 'done' })
    } catch (error) {
      stop({ state: 'failed' }, error)
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
      if (stream?.state === 'open' && stream.nextIndex < index) {
        // The service has lost pieces, such as one that was restored from a backup.
        for (let lost = stream.nextIndex; lost < index; lost++)
          await append(lost, pieces[lost - 1] ?? '')
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
