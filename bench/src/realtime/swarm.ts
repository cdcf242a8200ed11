/** All devices of the benchmark in one process, and the loads that they make. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Device, type DeviceHost, type DeviceLogin, type Effort, expectSuccess } from './device.js'
import { clientFrame } from './frames.js'
import { type Latencies, latencies, recordSince, timedText, toMicroseconds } from './latencies.js'
import { ReactionLoad, type ReactionResult } from './reaction-load.js'
import {
  type AppendOrder,
  type AppendResult,
  type FirstDeltaOrder,
  StreamLoad,
} from './stream-load.js'

/** Figures of messages to all devices. */
export interface FanOutResult {
  readonly messages: number
  readonly messagesPerSecond: number
  /** Time from the send to the last device, of each message. */
  readonly toAll: Latencies
  readonly cpuShare: number
}

/** Figures of sends between devices. */
export interface SendResult {
  readonly perSecond: number
  readonly errors: number
  /** From the send to its event at the receiver. */
  readonly latency: Latencies
  /** From the send to its answer. */
  readonly answer: Latencies
}

/** Cost of the return of devices. */
export interface ReturnResult {
  readonly ms: number
  readonly calls: number
  readonly bytes: number
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
const textBytes = 100

/** Many devices of one process. */
export class Swarm implements DeviceHost {
  appId = ''
  port = 0
  #devices: Device[] = []
  readonly #reactions = new ReactionLoad()
  readonly #streams = new StreamLoad()
  #received = 0
  #waiting: { readonly count: number; resolve(): void }[] = []
  #latency: RecordableHistogram | null = null
  #sample: string | null = null

  received(payload: Buffer): void {
    const isOfGroup = payload.indexOf(groupMark) >= 0
    if (!isOfGroup) {
      if (this.#latency) recordSince(payload, this.#latency)
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

  updated(payload: Buffer, device: Device): void {
    this.#reactions.received(payload, device === this.#devices[0])
  }

  appended(payload: Buffer): void {
    this.#streams.received(payload)
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
      messages: sent,
      messagesPerSecond: sent / (elapsedMs / 1_000),
      toAll: latencies(histogram),
      cpuShare: (user + system) / 1_000 / elapsedMs,
    }
  }

  async #sendBurst({ groupId, burst }: FanOutOrder): Promise<void> {
    const socket = this.#devices[0]?.socket
    if (!socket) throw new Error('no device')
    if (groupId === null) return socket.write(clientFrame(JSON.stringify({ broadcast: burst })))
    const message = { type: 2, targets: [groupId], content_type: 0, content: timedText(textBytes) }
    const answers = await socket.callTogether('message.send', Array(burst).fill(message))
    for (const answer of answers) expectSuccess(answer)
  }

  /** The first users react to a new message of the group at once. */
  react(groupId: number, users: number): Promise<ReactionResult> {
    return this.#reactions.run(this.#devices, groupId, users)
  }

  /** Sends from device to device while users react to a message of the group. */
  async besideReactions(
    oneToOne: Parameters<Swarm['oneToOne']>[0],
    groupId: number,
    users: number,
  ): Promise<SendResult> {
    const [sends] = await Promise.all([this.oneToOne(oneToOne), this.react(groupId, users)])
    return sends
  }

  beginStreams(count: number): Promise<void> {
    return this.#streams.begin(this.#devices, count)
  }

  appendToStreams(order: AppendOrder): Promise<AppendResult> {
    return this.#streams.append(order)
  }

  endStreams(): Promise<void> {
    return this.#streams.end()
  }

  firstDeltas(order: FirstDeltaOrder): Promise<Latencies> {
    return this.#streams.firstDeltas(this.#devices, order)
  }

  /** Sends from device to device while streams are written. */
  async besideStreams(
    oneToOne: Parameters<Swarm['oneToOne']>[0],
    append: AppendOrder,
  ): Promise<{ readonly sends: SendResult; readonly appends: AppendResult }> {
    const running = [this.oneToOne(oneToOne), this.appendToStreams(append)] as const
    const [sends, appends] = await Promise.all(running)
    return { sends, appends }
  }

  /** Measures from now on when timed messages arrive at devices. */
  beginTiming(): void {
    this.#latency = createHistogram()
  }

  /** Returns the times since {@link beginTiming}. */
  endTiming(): Latencies {
    const histogram = this.#latency ?? createHistogram()
    this.#latency = null
    return latencies(histogram)
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
    const { seconds, devices, perSecond: rate } = order
    const received = createHistogram()
    const answered = createHistogram()
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
          content: timedText(textBytes),
        }
        const sentAt = performance.now()
        expectSuccess(await from.socket.call('message.send', message))
        answered.record(toMicroseconds(performance.now() - sentAt))
        answers++
      } catch {
        errors++
      }
    }
    const startedAt = performance.now()
    if (rate === undefined)
      await Promise.all(
        Array.from({ length: devices }, async (_, index) => {
          while (performance.now() < endsAt) await send(index)
        }),
      )
    else await this.#paced(rate, endsAt, devices, send)
    const elapsedMs = performance.now() - startedAt
    // The last messages are on their way.
    await sleep(500)
    this.#latency = null
    const perSecond = answers / (elapsedMs / 1_000)
    return { perSecond, errors, latency: latencies(received), answer: latencies(answered) }
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
}
