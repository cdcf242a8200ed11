/** Many devices react to one message of a group at once. */
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Device, expectSuccess } from './device.js'
import { type Latencies, latencies, timedText, toMicroseconds } from './latencies.js'
import type { RawAnswer } from './raw-socket.js'

/** Figures of reactions of many users to one message. */
export interface ReactionResult {
  readonly users: number
  /** Time from the first call to the last answer. */
  readonly ms: number
  readonly latency: Latencies
  /** Events that a device has received, on average. */
  readonly events: number
  /** The highest rate of ten of them in a row, at the first device. */
  readonly eventsPerSecond: number
  /** Each reaction is counted once by the message, and by the last event. */
  readonly isExact: boolean
}

interface Sum {
  readonly key: string
  readonly count: number
}

const keys = 5
const lastEventMs = 500
/** Times between two events, over which the rate is measured: one that is late changes it little. */
const rated = 9

/** Reactions of devices, and the events that they receive. */
export class ReactionLoad {
  #updates = 0
  readonly #times: number[] = []
  #last = ''

  received(payload: Buffer, isFirstDevice: boolean): void {
    this.#updates++
    if (!isFirstDevice) return
    this.#times.push(performance.now())
    this.#last = payload.toString()
  }

  /** The first device sends a message to the group, to which the next ones react at once. */
  async run(devices: readonly Device[], groupId: number, users: number): Promise<ReactionResult> {
    const [sender, ...others] = devices
    const target = { conversation_id: groupId, type: 2 }
    const message = { type: 2, targets: [groupId], content_type: 0, content: timedText(100) }
    const sent = await callOf(sender)('message.send', message)
    const [msg_id] = (sent as RawAnswer & { readonly msg_ids: readonly number[] }).msg_ids
    const reacting = others.slice(0, users)
    const histogram = createHistogram()
    this.#updates = 0
    this.#times.length = 0
    const startedAt = performance.now()
    await Promise.all(
      reacting.map(async (device, index) => {
        const reaction = { ...target, msg_id, key: keyOf(index), on: true }
        await callOf(device)('message.reaction', reaction)
        histogram.record(toMicroseconds(performance.now() - startedAt))
      }),
    )
    const ms = performance.now() - startedAt
    await sleep(lastEventMs)
    const { data } = await callOf(sender)('message.get', { conversation_id: groupId, msg_id })
    const last = JSON.parse(this.#last) as { data: { set: { reactions: readonly Sum[] } } }
    return {
      users: reacting.length,
      ms,
      latency: latencies(histogram),
      events: this.#updates / devices.length,
      eventsPerSecond: highestRate(this.#times),
      isExact: [data.message.reactions, last.data.set.reactions].every((sums) =>
        isExact(sums, reacting.length),
      ),
    }
  }
}

function callOf(device: Device | undefined) {
  const { socket } = device ?? {}
  if (!socket) throw new Error('no device')
  return async (op: string, data: object) => expectSuccess(await socket.call(op, data))
}

const keyOf = (index: number) => `key ${index % keys}`

/** Returns the rate of the ten events in a row that took the least time; NaN for fewer. */
function highestRate(times: readonly number[]): number {
  const spans = times.slice(rated).map((time, index) => time - (times[index] as number))
  return spans.length === 0 ? Number.NaN : (rated * 1_000) / Math.min(...spans)
}

function isExact(sums: readonly Sum[], users: number): boolean {
  return Array.from({ length: Math.min(keys, users) }, (_, index) => index).every((index) => {
    const expected = Math.ceil((users - index) / keys)
    return sums.find(({ key }) => key === keyOf(index))?.count === expected
  })
}
