/** Messages that devices write piece by piece, and the pieces that devices receive. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { mapConcurrently } from '../measure/map-concurrently.js'
import { type Device, expectSuccess } from './device.js'
import { type Latencies, latencies, recordSince, timedText, toMicroseconds } from './latencies.js'
import type { RawAnswer } from './raw-socket.js'

/** Figures of appends to open streams. */
export interface AppendResult {
  readonly perSecond: number
  readonly errors: number
  /** From an append to its answer. */
  readonly latency: Latencies
  /** From an append to its event at the devices of writer and reader. */
  readonly delta: Latencies
}

/** Appends to streams, each in turn. */
export interface AppendOrder {
  readonly seconds: number
  /** The appends of each stream. */
  readonly perSecond: number
}

/** First pieces of new streams in a conversation. */
export interface FirstDeltaOrder {
  readonly streams: number
  /** null: from user to user. */
  readonly group: { readonly id: number; readonly members: number } | null
}

/** A message that is being written. */
interface OpenStream {
  readonly call: (op: string, data: object) => Promise<RawAnswer>
  readonly message: object
  nextIndex: number
}

const pieceBytes = 40
/** The step of paced sends, so that as many are together. */
const stepMs = 2
const beginningAtOnce = 32
const patienceMs = 5_000

/** The streams of a swarm. */
export class StreamLoad {
  #streams: readonly OpenStream[] = []
  #deltas: RecordableHistogram | null = null
  #arrived: () => void = () => {}

  received(payload: Buffer): void {
    if (this.#deltas) recordSince(payload, this.#deltas)
    this.#arrived()
  }

  /** Begins streams from devices of the first half, the last one first, to those of the second. */
  async begin(devices: readonly Device[], count: number): Promise<void> {
    const half = Math.floor(devices.length / 2)
    this.#streams = await mapConcurrently(
      Array.from({ length: count }),
      beginningAtOnce,
      (_, index) => {
        const pair = half - 1 - (index % half)
        const target = { type: 1, id: devices[half + pair]?.login.userId as number }
        return beginStream(devices[pair], target)
      },
    )
  }

  /** Appends to all open streams at fixed times, spread over the interval. */
  async append({ seconds, perSecond }: AppendOrder): Promise<AppendResult> {
    const histogram = createHistogram()
    this.#deltas = createHistogram()
    const intervalMs = 1_000 / perSecond
    const startedAt = performance.now()
    const endsAt = startedAt + seconds * 1_000
    let errors = 0
    await Promise.all(
      this.#streams.map(async (stream, index) => {
        const offsetMs = (index / this.#streams.length) * intervalMs
        const firstAt = startedAt + offsetMs - (offsetMs % stepMs)
        for (let dueAt = firstAt; performance.now() < endsAt && dueAt < endsAt; ) {
          await until(dueAt)
          const sentAt = performance.now()
          try {
            await appendTo(stream)
            histogram.record(toMicroseconds(performance.now() - sentAt))
          } catch {
            errors++
          }
          dueAt += intervalMs
        }
      }),
    )
    const elapsedMs = Math.max(performance.now(), endsAt) - startedAt
    await sleep(intervalMs)
    const delta = latencies(this.#deltas)
    this.#deltas = null
    const latency = latencies(histogram)
    return { perSecond: latency.count / (elapsedMs / 1_000), errors, latency, delta }
  }

  async end(): Promise<void> {
    await mapConcurrently(this.#streams, beginningAtOnce, endStream)
    this.#streams = []
  }

  /** Begins streams one after another, and measures when their first pieces arrive at all devices. */
  async firstDeltas(devices: readonly Device[], order: FirstDeltaOrder): Promise<Latencies> {
    const { streams, group } = order
    const [writer, reader] = [devices[0], devices[1]]
    const target = group ? { type: 2, id: group.id } : { type: 1, id: reader?.login.userId ?? 0 }
    const histogram = createHistogram()
    for (let count = 1; count <= streams; count++) {
      const stream = await beginStream(writer, target)
      this.#deltas = histogram
      const arrived = this.#allArrived(count * (group?.members ?? 2))
      await appendTo(stream)
      await arrived
      this.#deltas = null
      await endStream(stream)
    }
    return latencies(histogram)
  }

  #allArrived(count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${this.#deltas?.count} of ${count} pieces arrived`)),
        patienceMs,
      )
      this.#arrived = () => {
        if ((this.#deltas?.count ?? 0) < count) return
        this.#arrived = () => {}
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

async function beginStream(
  device: Device | undefined,
  { type, id }: { readonly type: number; readonly id: number },
): Promise<OpenStream> {
  const { socket } = device ?? {}
  if (!socket) throw new Error('no device')
  const call = async (op: string, data: object) => expectSuccess(await socket.call(op, data))
  const text = { content_type: 0, content: '…', stream: { kind: 'text' } }
  const sent = await call('message.send', { type, targets: [id], ...text })
  const [msg_id] = (sent as RawAnswer & { readonly msg_ids: readonly number[] }).msg_ids
  return { call, message: { conversation_id: id, type, msg_id }, nextIndex: 1 }
}

async function appendTo(stream: OpenStream): Promise<void> {
  const piece = { index: stream.nextIndex, text: timedText(pieceBytes) }
  await stream.call('message.stream.append', { ...stream.message, ...piece })
  stream.nextIndex++
}

async function endStream({ call, message, nextIndex }: OpenStream): Promise<void> {
  const end = { index: nextIndex, text: '', end: { state: 'done' } }
  await call('message.stream.append', { ...message, ...end })
}

async function until(dueAt: number): Promise<void> {
  const waitMs = dueAt - performance.now()
  if (waitMs > 0) await sleep(waitMs)
}
