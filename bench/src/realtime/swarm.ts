/** All devices of the benchmark in one process, and the loads that they make. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Device, type DeviceHost, type DeviceLogin, type Effort, expectSuccess } from './device.js'
import { clientFrame } from './frames.js'
import type { RawAnswer } from './raw-socket.js'

/** Latencies in milliseconds. */
export interface Latencies {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** Figures of messages to all devices. */
export interface FanOutResult {
  readonly messagesPerSecond: number
  /** Time from the send to the last device, of each message. */
  readonly toAll: Latencies
  readonly cpuShare: number
}

/** Figures of sends between devices. */
export interface SendResult {
  readonly perSecond: number
  readonly errors: number
  readonly latency: Latencies
}

/** Cost of the return of devices. */
export interface ReturnResult {
  readonly ms: number
  readonly calls: number
  readonly bytes: number
}

/** Figures of reactions of many users to one message. */
export interface ReactionResult {
  readonly users: number
  /** Time from the first call to the last answer. */
  readonly ms: number
  readonly latency: Latencies
  /** Events that a device has received. */
  readonly events: number
}

/** The order of a fan-out. */
export interface FanOutOrder {
  /** null = the bare server, which gets the number of messages to write. */
  readonly groupId: number | null
  /** Messages that are sent together. */
  readonly burst: number
  readonly seconds: number
  /** Bursts in progress at once. */
  readonly window: number
  /** A fixed rate of bursts; absent: as fast as they are received. */
  readonly perSecond?: number
}

const connectingAtOnce = 256
const patienceMs = 60_000
const stepMs = 2
const groupMark = Buffer.from('"is_group":true')
const sentMark = Buffer.from('sent=')
const sentLength = 16

/** Many devices of one process. */
export class Swarm implements DeviceHost {
  appId = ''
  port = 0
  #devices: Device[] = []
  #received = 0
  #updates = 0
  #waiting: { readonly count: number; resolve(): void }[] = []
  #latency: RecordableHistogram | null = null
  #sample: string | null = null

  received(payload: Buffer): void {
    const isOfGroup = payload.indexOf(groupMark) >= 0
    if (!isOfGroup) {
      if (this.#latency) this.#measure(payload, this.#latency)
      return
    }
    this.#received++
    this.#sample ??= payload.toString()
    const [first] = this.#waiting
    if (first && this.#received >= first.count) {
      this.#waiting.shift()
      first.resolve()
    }
  }

  updated(): void {
    this.#updates++
  }

  /**
   * Opens all devices.
   * @param service.appId '' = the bare server, which knows no sessions
   */
  async open(
    { port, appId }: { readonly port: number; readonly appId: string },
    logins: readonly DeviceLogin[],
  ): Promise<ReturnResult> {
    this.port = port
    this.appId = appId
    this.#devices = logins.map((login) => new Device(login, this))
    return this.#forAll(
      (device, effort) => (appId === '' ? device.openBare() : device.open(effort)),
      connectingAtOnce,
    )
  }

  close(): void {
    for (const device of this.#devices) {
      device.isStopped = true
      device.cut()
    }
    this.#devices = []
    this.#sample = null
  }

  /** An event frame as the service wrote it. */
  sample(): string {
    return this.#sample ?? ''
  }

  /**
   * Sends messages to a group until the time is over; each burst goes out when an earlier one has
   * reached all devices.
   */
  async fanOut(order: FanOutOrder): Promise<FanOutResult> {
    const { burst, seconds, window, perSecond } = order
    const histogram = createHistogram()
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    const endsAt = startedAt + seconds * 1_000
    let sent = 0
    this.#received = 0
    this.#waiting = []
    const run = async () => {
      for (let turn = 0; performance.now() < endsAt; turn++) {
        if (perSecond !== undefined)
          await sleep(Math.max(0, startedAt + (turn * 1_000) / perSecond - performance.now()))
        sent += burst
        const all = this.#receive(sent * this.#devices.length)
        const sentAt = performance.now()
        await Promise.all([this.#sendBurst(order), all])
        histogram.record(toMicroseconds(performance.now() - sentAt))
      }
    }
    await Promise.all(Array.from({ length: window }, run))
    const elapsedMs = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpu)
    return {
      messagesPerSecond: sent / (elapsedMs / 1_000),
      toAll: latencies(histogram),
      cpuShare: (user + system) / 1_000 / elapsedMs,
    }
  }

  async #sendBurst({ groupId, burst }: FanOutOrder): Promise<void> {
    const socket = this.#devices[0]?.socket
    if (!socket) throw new Error('no device')
    if (groupId === null) return socket.write(clientFrame(JSON.stringify({ broadcast: burst })))
    const message = { type: 2, targets: [groupId], content_type: 0, content: content() }
    const answers = await socket.callTogether('message.send', Array(burst).fill(message))
    for (const answer of answers) expectSuccess(answer)
  }

  /** Sends a message to the group, to which users react at once. */
  async reactions(groupId: number, users: number): Promise<ReactionResult> {
    const [sender, ...others] = this.#devices
    if (!sender?.socket) throw new Error('no device')
    const target = { conversation_id: groupId, type: 2 }
    const message = { type: 2, targets: [groupId], content_type: 0, content: content() }
    const sent = expectSuccess(await sender.socket.call('message.send', message))
    const [msg_id] = (sent as RawAnswer & { readonly msg_ids: readonly number[] }).msg_ids
    const reacting = others.slice(0, users)
    const histogram = createHistogram()
    this.#updates = 0
    const startedAt = performance.now()
    await Promise.all(
      reacting.map(async ({ socket }, index) => {
        if (!socket) throw new Error('no device')
        const reaction = { ...target, msg_id, key: `key ${index % 5}`, on: true }
        expectSuccess(await socket.call('message.reaction', reaction))
        histogram.record(toMicroseconds(performance.now() - startedAt))
      }),
    )
    const ms = performance.now() - startedAt
    // The last event is on its way.
    await sleep(500)
    const events = this.#updates / this.#devices.length
    return { users: reacting.length, ms, latency: latencies(histogram), events }
  }

  /**
   * Sends messages from each device of the first half to one of the second.
   * @param order.perSecond a fixed rate; absent: each device sends after its last answer
   */
  async oneToOne(order: {
    readonly seconds: number
    readonly devices: number
    readonly perSecond?: number
  }): Promise<SendResult> {
    const { seconds, devices, perSecond } = order
    const received = createHistogram()
    this.#latency = received
    const endsAt = performance.now() + seconds * 1_000
    let answers = 0
    let errors = 0
    const half = this.#devices.length / 2
    const send = async (index: number) => {
      const from = this.#devices[index % half]
      const to = this.#devices[half + (index % half)]
      try {
        if (!from?.socket || !to) throw new Error('no device')
        const message = {
          type: 1,
          targets: [to.login.userId],
          content_type: 0,
          content: content(),
        }
        expectSuccess(await from.socket.call('message.send', message))
        answers++
      } catch {
        errors++
      }
    }
    const startedAt = performance.now()
    if (perSecond === undefined)
      await Promise.all(
        Array.from({ length: devices }, async (_, index) => {
          while (performance.now() < endsAt) await send(index)
        }),
      )
    else await this.#paced(perSecond, endsAt, devices, send)
    const elapsedMs = performance.now() - startedAt
    // The last messages are on their way.
    await sleep(500)
    this.#latency = null
    return { perSecond: answers / (elapsedMs / 1_000), errors, latency: latencies(received) }
  }

  async #paced(
    perSecond: number,
    endsAt: number,
    devices: number,
    send: (index: number) => Promise<void>,
  ): Promise<void> {
    const startedAt = performance.now()
    const running = new Set<Promise<void>>()
    for (let count = 0; performance.now() < endsAt; ) {
      const due = ((performance.now() - startedAt) * perSecond) / 1_000
      for (; count < due; count++) {
        const call = send(count % devices)
        running.add(call)
        void call.finally(() => running.delete(call))
      }
      await sleep(stepMs)
    }
    await Promise.all(running)
  }

  /** Sends from device to device while a group gets messages. */
  async beside(
    oneToOne: Parameters<Swarm['oneToOne']>[0],
    fanOut: FanOutOrder,
  ): Promise<SendResult> {
    const [sends] = await Promise.all([this.oneToOne(oneToOne), this.fanOut(fanOut)])
    return sends
  }

  /** Cuts all connections at once. */
  cutAll(): void {
    for (const device of this.#devices) {
      device.isCurrent = false
      device.cut()
    }
  }

  /**
   * All devices come back at once, as after a loss of the network, or when the service told them
   * to, and sync.
   */
  comeBack(): Promise<ReturnResult> {
    return this.#forAll((device, effort) => device.open(effort), Number.POSITIVE_INFINITY)
  }

  /** The devices of one node come to another one at once, and sync. */
  move({ from, to }: { readonly from: number; readonly to: number }): Promise<ReturnResult> {
    const moving = this.#devices.filter(({ port }) => port === from)
    for (const device of moving) device.port = to
    return this.#forAll((device, effort) => device.open(effort), Number.POSITIVE_INFINITY, moving)
  }

  /** Brings one device from nothing to the present: all pages of the list. */
  async list(index: number): Promise<ReturnResult> {
    const startedAt = performance.now()
    const device = this.#devices[index]
    const effort = { calls: 0, bytes: 0 }
    if (!device?.socket) throw new Error('no device')
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      effort.calls++
      const { data } = expectSuccess(
        await device.socket.call('message.sync', { list: true, cursor, limit: 200, window: 0 }),
      )
      effort.bytes += JSON.stringify(data).length
      if (cursor === '') device.pos = data.pos
      cursor = data.cursor
    }
    return { ms: performance.now() - startedAt, ...effort }
  }

  cut(index: number): void {
    this.#devices[index]?.cut()
  }

  /**
   * Connects one device again and brings it from its pos to the present.
   * @param known the change number of its logs before; null = it stops at the heads
   */
  async comeBackAlone(
    index: number,
    window: number,
    known: number | null = null,
  ): Promise<ReturnResult> {
    const startedAt = performance.now()
    const device = this.#devices[index]
    if (!device) throw new Error('no device')
    device.window = window
    device.known = known
    const effort = await device.open()
    return { ms: performance.now() - startedAt, ...effort }
  }

  async #forAll(
    work: (device: Device, effort: Effort) => Promise<unknown>,
    atOnce: number,
    devices: readonly Device[] = this.#devices,
  ): Promise<ReturnResult> {
    const effort = { calls: 0, bytes: 0 }
    const startedAt = performance.now()
    const queue = devices.values()
    const worker = async () => {
      for (const device of queue) await work(device, effort)
    }
    const workers = Math.min(atOnce, devices.length)
    await Promise.all(Array.from({ length: workers }, worker))
    return { ms: performance.now() - startedAt, ...effort }
  }

  /** Resolves when this number of messages has arrived in all. */
  #receive(count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${this.#received} of ${count} messages arrived`)),
        patienceMs,
      )
      this.#waiting.push({
        count,
        resolve: () => {
          clearTimeout(timer)
          resolve()
        },
      })
    })
  }

  #measure(payload: Buffer, histogram: RecordableHistogram): void {
    const at = payload.indexOf(sentMark)
    if (at < 0) return
    const start = at + sentMark.length
    const sentAt = Number(payload.toString('latin1', start, start + sentLength))
    histogram.record(toMicroseconds(performance.now() - sentAt))
  }
}

/** A text of 100 bytes that has the time of its send. */
function content(): string {
  return `sent=${performance.now().toFixed(3).padStart(sentLength, '0')} `.padEnd(100, 'x')
}

function toMicroseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1_000))
}

function latencies(histogram: RecordableHistogram): Latencies {
  if (histogram.count === 0)
    return { count: 0, p50Ms: Number.NaN, p99Ms: Number.NaN, maxMs: Number.NaN }
  return {
    count: histogram.count,
    p50Ms: histogram.percentile(50) / 1_000,
    p99Ms: histogram.percentile(99) / 1_000,
    maxMs: histogram.max / 1_000,
  }
}
