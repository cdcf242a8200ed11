/**
 * Runs one schedule: users, devices and a model server in virtual time; at its end everything heals
 * and is compared.
 */
import { Random } from '../../../server/test/support/random.js'
import type { LogRecord } from '../../src/model/records.js'
import { Agenda } from './agenda.js'
import { differences, logKeyOf } from './comparison.js'
import { Device, watched } from './device.js'
import { ModelServer } from './model/model-server.js'
import { type Database, direct, group, keyOf, type LogName } from './model/state.js'
import type { Write } from './model/writes.js'
import type { Step } from './steps.js'
import { lostStates, lostWishes, type Wish, type WishedState, wrongEdits } from './wishes.js'

/** A message that an app has handed to a device. */
interface Sent {
  readonly device: Device
  readonly target: string
  /** What it may have been sent with: the text, and those of edits. */
  readonly texts: string[]
  readonly transactionId: number
  /** The user has sent it again, or dropped it: then its order and its fate are theirs. */
  isTouched: boolean
}

interface Target {
  readonly id: number
  readonly isGroup: boolean
}

const userIds = [1, 2, 3]
export const groupIds = [101, 102]
const transactionTtlMs = 60_000
/** The time after which the devices are compared, again and again: longer than any back-off in total. */
const settleMs = [2_000, 4_000, 10_000, 30_000, 60_000, 60_000]
/** The time without a call after which none follows: longer than two slow frames and a commit. */
const quietMs = 5_000
const maxRounds = 20

export class World {
  readonly agenda = new Agenda()
  readonly random: Random
  readonly server: ModelServer
  readonly devices: Device[] = []
  readonly sent: Sent[] = []
  readonly wishes: Wish[] = []
  readonly states: WishedState[] = []
  #words = 0
  #transactions = 0
  #backup: Database | undefined
  #isRestored = false
  #copied: Device[] = []
  readonly #wanted: readonly string[]
  /** Contents that a restore has taken away from the server. */
  readonly #lost = new Set<string>()

  constructor(readonly seed: number) {
    this.random = new Random(seed ^ 0x5f37)
    // Each of the four files has every fourth seed.
    const choice = (seed >> 2) % 6
    this.#wanted = choice === 0 ? watched.all : choice < 3 ? watched.few : []
    const { agenda, random } = this
    // Small pages find faults and cost time.
    const few = (least: number, most: number, otherwise: number) =>
      random.chance(0.3) ? random.integer(least, most) : otherwise
    const limits = {
      maxLogs: few(1, 4, 20),
      maxItems: few(2, 12, 100),
      maxRows: few(2, 10, 1_000),
      maxChanges: few(1, 5, 100),
      maxUserChanges: few(1, 4, 100),
    }
    this.server = new ModelServer({ agenda, random, limits, transactionTtlMs, maxInFlight: 4 })
    for (const id of userIds) this.server.addUser(id)
    this.server.addGroup(101, userIds, true)
    this.server.addGroup(102, random.chance(0.5) ? userIds : [1, 2], false)
    const [first, second] = [1, 2]
    this.#addDevice('phone', first, 'phone')
    if (random.chance(0.6)) this.#addDevice('page', first, random.chance(0.5) ? 'page' : null)
    this.#addDevice('other', second, 'other')
    this.server.observe = {
      delivered: (owner, name, seq) => this.#checkDelivered(owner, name, seq),
    }
  }

  #addDevice(name: string, userId: number, guid: string | null): void {
    const device = new Device(this, { name, userId, guid, wanted: this.#wanted })
    // The first commits of a device are the same in most schedules.
    device.copyAt = this.random.chance(0.3) ? this.random.integer(1, 60) : 0
    this.devices.push(device)
  }

  /** Runs the steps, heals everything and compares. @returns what is wrong; empty: nothing */
  run(steps: readonly Step[], act: (world: World, step: Step) => void): string[] {
    this.agenda.run(this.random.integer(0, 50))
    for (const step of steps) {
      act(this, step)
      this.agenda.run(step.at(-1) as number)
    }
    this.#heal()
    let found = this.#settle()
    if (found.length === 0 && this.seed % 3 === 0) found = this.#afterReturn()
    if (found.length === 0) found = this.#copies()
    return found
  }

  device(index: number): Device {
    return this.devices[index % this.devices.length] as Device
  }

  user(index: number): number {
    return userIds[index % userIds.length] as number
  }

  /** A conversation of a user: another user, itself, or a group. */
  target(index: number): Target {
    const ids = [...userIds, ...groupIds]
    const id = ids[index % ids.length] as number
    return { id, isGroup: groupIds.includes(id) }
  }

  name(userId: number, { id, isGroup }: Target): LogName {
    return isGroup ? group(id) : direct(userId, id)
  }

  word(): string {
    return `word ${++this.#words}`
  }

  commit(...writes: (Write | undefined)[]): void {
    for (const write of writes) if (write) this.server.commit(write)
  }

  isMember(userId: number, { id, isGroup }: Target): boolean {
    const of = this.server.database.groups.get(id)
    return !isGroup || (of?.members.has(userId) === true && of.status === 0)
  }

  send(device: Device, target: Target, isReply = false): void {
    const content = this.word()
    const transactionId = ++this.#transactions
    const { id: conversationId, isGroup } = target
    const key = logKeyOf(this.name(device.userId, target))
    const original = isReply ? device.store.messages.get(key)?.values().next().value : undefined
    this.sent.push({
      device,
      target: `${conversationId}`,
      texts: [content],
      transactionId,
      isTouched: false,
    })
    device.execute({
      type: 'send',
      transactionId,
      conversationId,
      isGroup,
      content: { contentType: 0, content, attachment: '', config: '', ext: '' },
      ...(original && { replyTo: { msgId: original.msgId, seq: original.seq } }),
      createdAt: 0,
    })
  }

  /** Edits or recalls one of the newest own messages that a device shows, sent or not. */
  alter(device: Device, kind: Wish['kind'], index: number): void {
    const { logs, messages, unsent } = device.store
    const own = [...logs.values()].flatMap(({ key, conversationId, kind: of }) =>
      of === 'broadcast' || conversationId === 0
        ? []
        : [...(messages.get(key)?.values() ?? [])]
            .filter(({ senderId }) => senderId === device.userId)
            .map((message) => ({ ...message, conversationId, isGroup: of === 'group' })),
    )
    const shown = own
      .sort((a, b) => a.msgId - b.msgId)
      .map((each) => ({ ...each, of: each.transactionId }))
    const waiting = [...unsent.values()]
      .filter(({ alters }) => !alters)
      .map((each) => ({
        ...each,
        of: each.transactionId,
        msgId: each.msgId ?? 0,
        editTimestamp: 0,
      }))
    const picked = [...shown, ...waiting].at(-1 - (index % 4))
    if (!picked) return
    const text = this.word()
    const { of, msgId, conversationId, isGroup, editTimestamp: seenEdit } = picked
    const transactionId = ++this.#transactions
    const isTouched = this.#isRestored
    this.wishes.push({ device, kind, text, transactionId, msgId, of, isTouched })
    for (const each of this.sent)
      if (each.transactionId === of && each.device === device) {
        if (kind === 'edit') each.texts.push(text)
        else each.isTouched = true
      }
    device.execute({
      type: 'alter',
      ...{ transactionId, conversationId, isGroup, kind, msgId, createdAt: 0 },
      ...(of !== undefined && { of }),
      ...(kind === 'edit' && { text, seenEdit }),
    })
  }

  /** Wants a reaction or pin of one of the newest messages that a device shows. */
  wish(
    device: Device,
    index: number,
    { reaction, isOn }: { readonly reaction?: string; readonly isOn: boolean },
  ): void {
    const shown = [...device.store.logs.values()]
      .filter(({ kind }) => kind !== 'broadcast')
      .flatMap(({ key }) => [...(device.store.messages.get(key)?.values() ?? [])])
      .sort((a, b) => a.msgId - b.msgId)
    const message = shown.at(-1 - (index % 5))
    if (!message) return
    const { log, msgId } = message
    const name = `${msgId} ${reaction ?? 'pin'}`
    const { now: at } = this.agenda
    this.states.push({ device, name, isOn, at, isTouched: this.#isRestored })
    const wish = { log, msgId, isOn, ...(reaction !== undefined && { reaction }) }
    device.execute({ type: 'wish', wish })
  }

  backUp(): void {
    this.#backup = structuredClone(this.server.database)
  }

  restore(): void {
    if (!this.#backup) return
    const before = this.#contents()
    this.server.restore(this.#backup)
    const after = this.#contents()
    for (const content of before.keys()) if (!after.has(content)) this.#lost.add(content)
    // What has run, and what devices have seen, may be undone.
    for (const wish of [...this.wishes, ...this.states]) wish.isTouched = true
    this.#isRestored = true
  }

  /** How often each text was sent, and as an edit. */
  #contents(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { originals, edits } of this.server.database.logs.values())
      for (const content of [...originals, ...edits.map((edit) => edit.content)])
        counts.set(content, (counts.get(content) ?? 0) + 1)
    return counts
  }

  #checkDelivered(owner: string, name: LogName, seq: number): void {
    const devices = [...this.devices, ...this.#copied].filter((each) => each.name === owner)
    const stores = devices.flatMap(({ store: current, formerStores }) => [current, ...formerStores])
    const end = Math.min(seq, this.server.database.logs.get(keyOf(name))?.messages.length ?? 0)
    const isHeld = stores.some(({ logs }) => (logs.get(logKeyOf(name))?.seq ?? -1) >= end)
    if (!isHeld)
      this.server.wrong.push(
        `${owner} confirms ${keyOf(name)} up to ${seq}, which its store has not`,
      )
  }

  #heal(): void {
    this.server.downUntil = 0
    this.server.failures = []
    this.server.unanswered = 0
    for (const device of this.devices) {
      device.isOffline = false
      device.slowMs = 0
      device.store.failure = undefined
      device.thaw()
      device.leader.thaw()
    }
    // What ended them may arrive late; then the user comes back to the page.
    this.agenda.run(3_000)
    for (const device of this.devices) device.leader.input({ type: 'connect' })
  }

  /** Gives the devices time, and compares. */
  #settle(devices: readonly Device[] = this.devices): string[] {
    let found: string[] = []
    for (const ms of settleMs) {
      this.agenda.run(ms)
      found = devices.flatMap((device) => differences(device, this.server))
      if (found.length === 0) break
      this.#openMuted(devices)
    }
    const { wishes, server } = this
    const wrong = [
      ...this.#wrongSends(),
      ...lostWishes(wishes, server),
      ...lostStates(this.states, server),
      ...wrongEdits(wishes, server),
    ]
    return [...found, ...this.#faults(devices), ...wrong]
  }

  /** No event of the messages of such groups comes; the user looks at them. */
  #openMuted(devices: readonly Device[]): void {
    for (const device of devices)
      for (const { key } of [...device.store.logs.values()].filter(isMuted))
        for (const logs of [[], [key]]) device.execute({ type: 'onScreen', caller: key, logs })
  }

  #faults(devices: readonly Device[]): string[] {
    return [...this.server.wrong, ...devices.flatMap(({ wrong }) => wrong)]
  }

  /** Nothing is sent twice, lost, or out of order. */
  #wrongSends(): string[] {
    const found: string[] = []
    const places = new Map<string, number>()
    for (const [content, count] of this.#contents())
      if (count > 1) found.push(`${content} is at the server ${count} times`)
    for (const { originals } of this.server.database.logs.values())
      for (const [index, content] of originals.entries()) places.set(content, index)
    const last = new Map<string, number>()
    for (const { device, target, texts, transactionId, isTouched } of this.sent) {
      const [content] = texts
      const place = texts.map((text) => places.get(text)).find((each) => each !== undefined)
      const unsent = device.store.unsent.get(transactionId)
      if (place === undefined) {
        const isLost = texts.some((text) => this.#lost.has(text))
        if (!unsent && !isTouched && !isLost) found.push(`${content} is lost`)
        continue
      }
      if (unsent && unsent.failure?.name !== 'undecided')
        found.push(`${content} is stored, and still unsent`)
      const lane = `${device.name} ${target}`
      if (!isTouched && place < (last.get(lane) ?? -1)) found.push(`${content} is out of order`)
      if (!isTouched) last.set(lane, place)
    }
    return found
  }

  /** A client that returns when nothing has happened asks for nothing. */
  #afterReturn(): string[] {
    // Groups without events are requested while they are on screen.
    if (this.devices.some(({ store: { logs } }) => [...logs.values()].some(isMuted))) return []
    // The replies that were shown may be hidden meanwhile: then no view shows them any more.
    for (const device of this.devices)
      device.execute({ type: 'quotes', caller: 'pages', replies: [] })
    const commits = () => this.server.database.rows.length
    // Acknowledgements of delivery are changes too, which other devices read at their next return.
    for (let round = 0, before = -1; round < maxRounds && commits() > before; round++) {
      before = commits()
      this.#return()
    }
    const { heads } = this.server
    const before = new Map(this.server.calls)
    this.#return()
    if (this.server.heads > heads) return [`${this.server.heads - heads} heads for nothing`]
    const free = ['message.delivered', 'presence.subscribe']
    return [...this.server.calls]
      .filter(([op, count]) => !free.includes(op) && count > (before.get(op) ?? 0))
      .map(([op]) => `${op} is called although nothing has changed`)
  }

  /** Cuts all connections, and waits until every device has been online for a while without a call. */
  #return(): void {
    for (const device of this.devices) device.leader.connection?.cut(true)
    const calls = () => [...this.server.calls.values()].reduce((sum, count) => sum + count, 0)
    for (let round = 0, isQuiet = false; round < maxRounds && !isQuiet; round++) {
      const before = calls()
      const wasOnline = this.devices.every(isOnline)
      this.agenda.run(quietMs)
      isQuiet = wasOnline && this.devices.every(isOnline) && calls() === before
    }
  }

  /** Stores as they were after one of the commits: what a crash there would have left. */
  #copies(): string[] {
    this.#copied = this.devices.flatMap(({ copy, name, userId }) =>
      copy
        ? [
            new Device(this, {
              name: `copy of ${name}`,
              userId,
              guid: null,
              store: copy,
              wanted: this.#wanted,
            }),
          ]
        : [],
    )
    return this.#copied.length === 0 ? [] : this.#settle(this.#copied)
  }
}

const isOnline = ({ connection }: Device): boolean => connection === 'online'
const isMuted = ({ muteMode }: LogRecord): boolean => muteMode === 2
