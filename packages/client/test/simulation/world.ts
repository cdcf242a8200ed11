/** Runs one schedule: users, devices and a model server in virtual time; at its end everything heals and is compared. */
import type { ErrorName } from '@hermod/protocol'
import { Random } from '../../../server/test/support/random.js'
import type { LogRecord } from '../../src/core/records.js'
import { Agenda } from './agenda.js'
import { differences, logKeyOf } from './comparison.js'
import { Device, things } from './device.js'
import { ModelServer } from './model/model-server.js'
import { broadcasts, type Database, direct, group, keyOf, type LogName } from './model/state.js'
import {
  changeContact,
  dissolve,
  edit,
  hide,
  join,
  leave,
  pin,
  read,
  recall,
  rename,
  rewriteProfile,
  setMuteMode,
  store,
  type Write,
} from './model/writes.js'
import type { Step, StepName } from './steps.js'

/** A message that an app has handed to a device. */
interface Sent {
  readonly device: Device
  readonly target: string
  readonly content: string
  readonly transactionId: number
  /** The user has sent it again, or dropped it: then its order and its fate are theirs. */
  isTouched: boolean
}

interface Target {
  readonly id: number
  readonly isGroup: boolean
}

const userIds = [1, 2, 3]
const groupIds = [101, 102]
const transactionTtlMs = 60_000
/** The time after which the devices are compared, again and again: longer than any back-off in total. */
const settleMs = [2_000, 4_000, 10_000, 30_000, 60_000, 60_000]
/** The time in which a device comes back, if it has not failed before. */
const returnMs = 3_000
const maxRounds = 20
const errors: readonly ErrorName[] = ['too_many_requests', 'unavailable', 'storage_failed']

export class World {
  readonly agenda = new Agenda()
  readonly random: Random
  readonly server: ModelServer
  readonly devices: Device[] = []
  readonly sent: Sent[] = []
  #words = 0
  #transactions = 0
  #backup: Database | undefined
  #copied: Device[] = []
  readonly #wanted: readonly string[]
  /** Contents that a restore has taken away from the server. */
  readonly #lost = new Set<string>()

  constructor(readonly seed: number) {
    this.random = new Random(seed ^ 0x5f37)
    // Files have seeds that are all even, or all odd.
    const choice = (seed >> 1) % 6
    this.#wanted = choice === 0 ? things.all : choice < 3 ? things.few : []
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
  run(steps: readonly Step[]): string[] {
    this.agenda.run(this.random.integer(0, 50))
    for (const [name, a = 0, b = 0, c = 0, waitMs = 0] of steps) {
      actions[name](this, a, b, c)
      this.agenda.run(waitMs)
    }
    this.#heal()
    let found = this.#settle()
    if (found.length === 0 && this.seed % 4 === 0) found = this.#afterReturn()
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

  send(device: Device, target: Target): void {
    const content = this.word()
    const transactionId = ++this.#transactions
    const { id: conversationId, isGroup } = target
    this.sent.push({
      device,
      target: `${conversationId}`,
      content,
      transactionId,
      isTouched: false,
    })
    device.execute({
      type: 'send',
      transactionId,
      conversationId,
      isGroup,
      content: { contentType: 0, content, attachment: '', config: '', ext: '' },
      createdAt: 0,
    })
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
  }

  #contents(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { originals } of this.server.database.logs.values())
      for (const content of originals) counts.set(content, (counts.get(content) ?? 0) + 1)
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
    return [...found, ...this.#faults(devices), ...this.#wrongSends()]
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
    for (const { device, target, content, transactionId, isTouched } of this.sent) {
      const place = places.get(content)
      const unsent = device.store.unsent.get(transactionId)
      if (place === undefined) {
        if (!unsent && !isTouched && !this.#lost.has(content)) found.push(`${content} is lost`)
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

  /** Whoever comes back when nothing has happened asks for nothing. */
  #afterReturn(): string[] {
    // Groups without events are requested while they are on screen.
    if (this.devices.some(({ store: { logs } }) => [...logs.values()].some(isMuted))) return []
    const cut = () => {
      for (const device of this.devices) device.leader.connection?.cut(true)
      const isBack = () => this.devices.every(({ connection }) => connection === 'online')
      for (let round = 0; round === 0 || (round < maxRounds && !isBack()); round++)
        this.agenda.run(returnMs)
    }
    cut()
    // Acknowledgements of delivery are changes too.
    cut()
    const { calls } = this.server
    const before = new Map(calls)
    const heads = this.server.heads
    cut()
    if (this.server.heads > heads) return [`${this.server.heads - heads} heads for nothing`]
    const free = ['message.delivered', 'presence.subscribe']
    return [...calls]
      .filter(([op, count]) => !free.includes(op) && count > (before.get(op) ?? 0))
      .map(([op]) => `${op} is called although nothing has changed`)
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

const isMuted = ({ muteMode }: LogRecord): boolean => muteMode === 2

type Action = (world: World, a: number, b: number, c: number) => void

/** Picks one of the newest messages of the user. */
function ownSeq(world: World, userId: number, name: LogName, index: number): number {
  const log = world.server.database.logs.get(keyOf(name))
  const own = log?.messages.filter((each) => each?.sender_id === userId) ?? []
  return own.at(-1 - (index % 4))?.seq ?? 0
}

const actions: Readonly<Record<StepName, Action>> = {
  send: (world, a, b) => world.send(world.device(a), world.target(b)),
  post: (world, a, b, c) => {
    const senderId = world.user(a)
    const target = world.target(b)
    if (!world.isMember(senderId, target)) return
    const draft = { content: world.word(), isSystem: c === 0 }
    const { database, now } = world.server
    world.commit(store(database, world.name(senderId, target), { senderId, now, draft }).write)
  },
  edit: (world, a, b, c) => {
    const actorId = world.user(a)
    const name = world.name(actorId, world.target(b))
    const seq = ownSeq(world, actorId, name, c)
    const { database, now } = world.server
    if (seq > 0) world.commit(edit(database, name, { seq, content: world.word(), now, actorId }))
  },
  recall: (world, a, b, c) => {
    const actorId = world.user(a)
    const name = world.name(actorId, world.target(b))
    const seq = ownSeq(world, actorId, name, c)
    const { database, now } = world.server
    if (seq > 0) world.commit(recall(database, name, { seq, now, actorId }))
  },
  read: (world, a, b, c) => {
    const device = world.device(a)
    const logs = [...device.store.logs.values()].filter(({ conversationId }) => conversationId > 0)
    const log = logs[b % Math.max(1, logs.length)]
    const messages = log && [...(device.store.messages.get(log.key)?.values() ?? [])]
    const message = messages?.at(-1 - (c % 3))
    if (log && message)
      device.execute({
        type: 'read',
        conversationId: log.conversationId,
        msgId: message.msgId,
      })
  },
  acknowledge: (world, a, b, c) => {
    const userId = world.user(a)
    const { id: peer, isGroup } = world.target(b)
    if (!world.isMember(userId, { id: peer, isGroup })) return
    const ids = world.server.database.logs.get(
      keyOf(world.name(userId, { id: peer, isGroup })),
    )?.ids
    const msgId = c < 6 ? undefined : ids?.at(-1 - (c % 4))
    const upTo = msgId === undefined ? {} : { msgId }
    world.commit(...read(world.server.database, userId, { peer, isGroup, ...upTo }))
  },
  hide: (world, a, b) => {
    const userId = world.user(a)
    const { id: peer, isGroup } = world.target(b)
    if (world.isMember(userId, { id: peer, isGroup }))
      world.commit(...hide(world.server.database, userId, { peer, isGroup }))
  },
  broadcast: (world, a) => {
    const senderId = world.user(a)
    const { database, now } = world.server
    const draft = { content: world.word() }
    world.commit(store(database, broadcasts(senderId), { senderId, now, draft }).write)
  },
  membership: (world, a, b) => {
    const userId = world.user(a)
    const of = world.server.database.groups.get(groupIds[b % groupIds.length] as number)
    if (!of || of.status === 1) return
    if (of.members.has(userId)) world.commit(leave(of, userId, b > 6 ? world.user(a + 1) : userId))
    else world.commit(join(world.server.database, of, userId))
  },
  rename: (world, a, b) => {
    const of = world.server.database.groups.get(groupIds[b % groupIds.length] as number)
    if (of?.status === 0) world.commit(rename(of, world.user(a), world.word()))
  },
  dissolve: (world, a) => {
    const of = world.server.database.groups.get(102)
    if (of?.status === 0 && of.members.size > 0) world.commit(dissolve(of, world.user(a)))
  },
  muteMode: (world, a, b, c) => {
    const userId = world.user(a)
    const of = world.server.database.groups.get(groupIds[b % groupIds.length] as number)
    if (of?.members.has(userId) && of.status === 0)
      world.commit(setMuteMode(world.server.database, of, userId, c < 6 ? 2 : 0))
  },
  pin: (world, a, b) => world.commit(pin(world.server.database, world.user(a), world.target(b).id)),
  contact: (world, a, b, c) => {
    const peer = world.user(b)
    const alias = c < 6 ? world.word() : undefined
    if (peer !== world.user(a))
      world.commit(changeContact(world.server.database, world.user(a), { peer, alias }))
  },
  profile: (world, a) =>
    world.commit(rewriteProfile(world.server.database, world.user(a), world.word())),
  history: (world, a, b, c) => {
    const device = world.device(a)
    const logs = [...device.store.logs.values()]
    const log = logs[b % Math.max(1, logs.length)]
    if (!log) return
    const [first] = log.ranges.at(-1) ?? [log.seq + 1]
    const beforeSeq = c < 8 ? first : Math.max(1, log.seq - c)
    device.execute({ type: 'history', log: log.key, beforeSeq, limit: 1 + c })
  },
  retry: (world, a, b, c) => touch(world, a, b, c < 6 ? 'retry' : 'anyway'),
  discard: (world, a, b) => touch(world, a, b, 'discard'),
  cut: (world, a) => world.device(a).leader.connection?.cut(),
  cutAfter: (world, a, b) => {
    const { connection } = world.device(a).leader
    if (connection) connection.cutAfter = b
  },
  silence: (world, a) => {
    const { connection } = world.device(a).leader
    if (connection) connection.isSilent = true
  },
  offline: (world, a) => {
    world.device(a).isOffline = true
    world.device(a).leader.connection?.cut()
  },
  online: (world, a, b) => {
    world.device(a).isOffline = false
    if (b < 6) world.device(a).leader.input({ type: 'wakeup' })
  },
  fallBehind: (world, a, b) => world.device(a).leader.connection?.session?.fallBehind(20 + b * 50),
  crash: (world, a, b) => world.device(a).crash(b < 6),
  freeze: (world, a) => {
    const device = world.device(a)
    if (device.guid !== null && device.frozen.length < 2) device.freeze()
  },
  thaw: (world, a) => world.device(a).thaw(),
  slowStore: (world, a, b) => {
    world.device(a).slowMs = b < 6 ? 0 : b * 100
  },
  failStore: (world, a, b) => {
    world.device(a).store.failure = b < 6 ? 'quota' : 'unavailable'
  },
  sleep: (world, a, b) => {
    world.device(a).sleep((1 + b) * 10_000)
  },
  wakeup: (world, a) => world.device(a).leader.input({ type: 'wakeup' }),
  kick: (world, a) => world.device(a).leader.connection?.session?.close(4501),
  expireToken: (world, a) => world.server.expireTokens(world.user(a)),
  refuse: (world, a, b) => {
    world.server.failures = Array(1 + (b % 3)).fill(errors[a % errors.length])
  },
  restart: (world, a, b) => world.server.restart(a * 200, b < 6),
  purge: (world) => {
    const { database } = world.server
    database.purgedTo = database.rows.length
  },
  purgeChanges: (world, a) => {
    for (const log of world.server.database.logs.values())
      if (a % 2 === 0 && log.changes.some(({ kind }) => kind !== 'stored'))
        log.keptFrom = log.changes.findLastIndex(({ kind }) => kind !== 'stored') + 1
  },
  backUp: (world) => world.backUp(),
  restore: (world) => world.restore(),
  // Far less than the life of transactions, as for a real server.
  jumpServerClock: (world, a) => {
    world.server.clockOffset += (a - 5) * 200
  },
  wait: (world, a) => world.agenda.run(a * 500),
  waitLong: (world, a) => world.agenda.run(a * 15_000),
}

function touch(world: World, a: number, b: number, kind: 'retry' | 'anyway' | 'discard'): void {
  const device = world.device(a)
  const unsent = [...device.store.unsent.values()]
  const { transactionId } = unsent[b % Math.max(1, unsent.length)] ?? {}
  if (transactionId === undefined) return
  for (const each of world.sent)
    if (each.device === device && each.transactionId === transactionId) each.isTouched = true
  if (kind === 'discard') device.execute({ type: 'discard', transactionId })
  else device.execute({ type: 'retry', transactionId, ...(kind === 'anyway' && { anyway: true }) })
}
