/** Users, devices and tasks that chance makes, with the model of what must come of them. */
import {
  type ScriptName,
  type SimulatedChannel,
  scripts,
  simulatedChannels,
} from '@hermod/push-simulator'
import type { Json, ServerProcess } from '@hermod/testkit'
import type { Random } from '../random.js'
import {
  handsets,
  type ModelAudience,
  ModelDevice,
  type ModelRound,
  type ModelTask,
  ModelUser,
} from './push-model.js'
import type { PushNodes } from './push-nodes.js'

/** A task with the body that asks for it. */
export interface DraftedTask extends ModelTask {
  readonly body: Json
}

const calmScripts = ['dead', 'wrong', 'gone', 'muted'] as const
/** Their first request fails; then the token is taken. */
const failingScripts = ['error', 'goaway', 'auth'] as const
/** The whole request fares as one of its tokens does. */
const stormScripts = ['denied', 'config', 'payload', 'cut'] as const
/** More failures of a batch, with the answers that are lost, might be too many. */
const maxUnspent = 2
const tags = ['red', 'green', 'blue', 'far', 'near']
const crowdSize = 600
const firstOfCrowd = 1_001

/** More than a page of the audience; their devices are bound and never change. */
export function isOfCrowd({ id }: ModelUser): boolean {
  return id >= firstOfCrowd && id < firstOfCrowd + crowdSize
}

export class PushModelWorld {
  readonly users: ModelUser[] = []
  readonly #unspent = new Map<SimulatedChannel, string[]>()
  readonly #hadAuth = new Set<SimulatedChannel>()
  #names = 0

  constructor(
    private readonly nodes: PushNodes,
    private readonly random: Random,
    private readonly wasTaken: (channel: SimulatedChannel, token: string) => boolean,
  ) {}

  /** A user whose devices, one for each channel, are always reached. */
  async addLead(): Promise<ModelUser> {
    const user = await this.#register()
    for (const channel of simulatedChannels) {
      const device = await this.#addDevice(user)
      await this.#bind(device, channel, this.#token(channel, 'accept'))
    }
    return user
  }

  async addUsers(count: number): Promise<void> {
    for (let each = 0; each < count; each++) {
      const user = await this.#register()
      await this.#addBoundDevice(user)
      if (each % 2 === 0) await this.#addBoundDevice(user)
    }
  }

  /** As many as take several pages; made behind the service's back, as logins take their time. */
  async addCrowd(like: ModelUser): Promise<void> {
    const { sql } = this.nodes
    const [row = {}] = await sql.run(`select * from users where user_id = ${like.id}`)
    const changes: Readonly<Record<string, string>> = {
      user_id: `${firstOfCrowd - 1} + n.i`,
      username: "'crowd_' || n.i",
      username_key: "'crowd_' || n.i",
    }
    const names = Object.keys(row)
    await sql.run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${crowdSize})
      insert into users (${names}) select ${names.map((name) => changes[name] ?? name)}
      from users, n where user_id = ${like.id}`)
    await sql.run(`insert into user_badges (app_id, user_id)
      select app_id, user_id from users
      where user_id between ${firstOfCrowd} and ${firstOfCrowd + crowdSize - 1}`)
    for (let index = 0; index < crowdSize; index++) {
      const user = new ModelUser(firstOfCrowd + index)
      const device = new ModelDevice(user, 1, '')
      const channel = handsets[index % handsets.length] as SimulatedChannel
      device.tokens.set(channel, `crowd-${index}`)
      user.devices.push(device)
      this.users.push(user)
    }
    const rows = this.users
      .filter(isOfCrowd)
      .flatMap(({ id, devices }) =>
        devices.flatMap(({ tokens }) =>
          [...tokens].map(([name, token]) => `('test', ${id}, 1, '${name}', '${token}', 1, 0)`),
        ),
      )
    await sql.run(`insert into push_bindings
      (app_id, user_id, device_sn, notifier_name, device_token, bound_at, paused_until)
      values ${rows.join()}`)
  }

  /** Something that users do between tasks. */
  async change(): Promise<void> {
    const { random } = this
    const user = random.pick(this.#individuals)
    const device = user.devices.length > 0 ? random.pick(user.devices) : null
    const act = random.integer(0, 11)
    if (device === null || act === 0) await this.#addBoundDevice(user)
    else if (act <= 3) {
      const channel = random.pick(simulatedChannels)
      await this.#bind(device, channel, this.#randomToken(channel))
    } else if (act === 4) await this.#unbind(device)
    else if (act === 5) await this.#removeDevice(device)
    else if (act === 6) await this.#moveToken(device)
    else if (act === 7) await this.#setTags(user)
    else if (act === 8) await this.#setAlias(user)
    else if (act === 9) await this.#setBadge(user)
    else await this.#setPreference(user)
  }

  /**
   * Tokens that have gateways refuse whole requests, on devices of some users.
   * @param isLast also by silence, which lasts, and by a quota that is used up, after which nothing is sent
   */
  async bringStorm(count: number, isLast: boolean): Promise<void> {
    const { random } = this
    const choices: readonly ScriptName[] = isLast
      ? [...stormScripts, 'slow', 'quota']
      : stormScripts
    const devices = this.#individuals.flatMap((user) => user.devices)
    for (let each = 0; each < count; each++) {
      const channel = random.pick(simulatedChannels)
      await this.#bind(random.pick(devices), channel, this.#token(channel, random.pick(choices)))
    }
  }

  /** A plain task for one user, through every gateway. */
  draftTo({ id }: ModelUser): DraftedTask {
    return {
      audience: { kind: 'user_id', values: [id] },
      strategy: 'combined',
      sequence: simulatedChannels,
      badge: { mode: 'add', count: 1 },
      isStormy: false,
      body: {
        audience: { user_id: [id] },
        setting: { request_id: `task ${++this.#names}` },
        message: { body: 'There is something new.' },
      },
    }
  }

  /** @param isToAll to everybody, through all gateways */
  draft({
    isStormy,
    isToAll,
    hasCommands,
  }: {
    readonly isStormy: boolean
    readonly isToAll: boolean
    readonly hasCommands: boolean
  }): DraftedTask {
    const { random } = this
    const audience: ModelAudience = isToAll ? { kind: 'all' } : this.#audience()
    const strategies = ['combined', 'ospush_only', 'corepush_only', 'combined'] as const
    const strategy = isToAll ? 'combined' : random.pick(strategies)
    const names = isToAll || random.chance(0.5) ? undefined : this.#sequenceNames()
    const type = hasCommands && random.chance(0.15) ? 'cmd' : 'text'
    const badge = random.pick(['', '', '', '+2', '+5', String(random.integer(0, 30))])
    const now = Math.floor(Date.now() / 1_000)
    const begin = random.chance(0.2) ? now + random.integer(1, 2) : undefined
    return {
      audience,
      strategy,
      sequence: sequenceOf(names),
      badge: type === 'cmd' ? null : badgeOf(badge),
      isStormy,
      body: {
        audience: audience.kind === 'all' ? 'all' : { [audience.kind]: audience.values },
        setting: {
          request_id: `task ${++this.#names}`,
          distribution_strategy: strategy,
          ospush_sequence: names,
        },
        message: {
          type,
          title: `Task ${this.#names}`,
          body: 'There is something new.',
          badge,
          show_begin_time: begin,
        },
      },
    }
  }

  /**
   * Compares what is stored of tokens and badges with what the model says, and goes on from there.
   * @returns what is wrong
   */
  async adopt(round: ModelRound): Promise<string[]> {
    // The model computes badges from the tokens that there were.
    return [...(await this.#adoptBadges(round)), ...(await this.#adoptTokens(round))]
  }

  get #individuals(): ModelUser[] {
    return this.users.filter((user) => !isOfCrowd(user))
  }

  async #adoptTokens(round: ModelRound): Promise<string[]> {
    const faults: string[] = []
    const changes: (() => void)[] = []
    const rows = await this.nodes.sql.run('select * from push_bindings')
    const stored = new Map(
      rows.map((row) => [`${row.user_id} ${row.device_sn} ${row.notifier_name}`, row]),
    )
    for (const device of this.users.flatMap(({ devices }) => devices))
      for (const [channel, token] of device.tokens) {
        const name = `${device.user.id} ${device.sn} ${channel}`
        const row = stored.get(name)
        stored.delete(name)
        const isThere = row?.device_token === token
        const isPaused = isThere && Number(row.paused_until) > Date.now()
        const loss = round.loss(device, channel)
        const wasPaused = device.paused.has(channel)
        const became = isThere ? (isPaused && !wasPaused ? 'muted' : 'kept') : 'dead'
        const expected = [loss?.isCertain ? loss.kind : 'kept', loss?.kind ?? 'kept']
        if (!expected.includes(became)) faults.push(`${name} ${token}: ${became}, not ${expected}`)
        if (isThere && wasPaused && !isPaused) faults.push(`${name} ${token}: not paused`)
        if (became === 'dead') changes.push(() => device.tokens.delete(channel))
        if (became === 'muted') changes.push(() => device.paused.add(channel))
      }
    for (const change of changes) change()
    return [...faults, ...[...stored.keys()].map((name) => `${name}: not in the model`)]
  }

  async #adoptBadges(round: ModelRound): Promise<string[]> {
    const faults: string[] = []
    const rows = await this.nodes.sql.run('select user_id, badge from user_badges')
    const badges = new Map(rows.map(({ user_id, badge }) => [Number(user_id), Number(badge)]))
    for (const user of this.users) {
      const badge = badges.get(user.id) ?? -1
      const { min, max } = round.badge(user)
      if (badge < min || badge > max)
        faults.push(`badge of ${user.id}: ${badge}, not ${min} to ${max}`)
      user.badge = badge
    }
    return faults
  }

  async #register(): Promise<ModelUser> {
    const { id } = await this.nodes.call(({ api }) => api.register())
    const user = new ModelUser(id)
    this.users.push(user)
    return user
  }

  async #addDevice(user: ModelUser): Promise<ModelDevice> {
    const sn = ++user.lastSn
    const pushToken = await this.nodes.call(async ({ api }) => {
      const account = { id: user.id, username: '', password: 'correct horse' }
      return (await api.login(account, `device ${sn} of ${user.id}`)).record.push_token ?? ''
    })
    const device = new ModelDevice(user, sn, pushToken)
    user.devices.push(device)
    return device
  }

  async #addBoundDevice(user: ModelUser): Promise<void> {
    // Who is disabled cannot log in.
    if (user.isDisabled) await this.#toggleDisabled(user)
    const device = await this.#addDevice(user)
    for (const channel of this.#someChannels())
      await this.#bind(device, channel, this.#randomToken(channel))
  }

  async #bind(device: ModelDevice, channel: SimulatedChannel, token: string): Promise<void> {
    await this.#call(device.user, 'POST', '/user/token/bind', {
      body: { device_sn: device.sn, device_token: token, notifier_name: channel },
    })
    for (const { devices } of this.users)
      for (const other of devices)
        if (other.tokens.get(channel) === token) other.tokens.delete(channel)
    device.tokens.set(channel, token)
    device.paused.delete(channel)
  }

  async #unbind(device: ModelDevice): Promise<void> {
    await this.#call(device.user, 'DELETE', '/user/token/unbind', {
      query: { deviceSn: device.sn },
    })
    device.tokens.clear()
    device.paused.clear()
  }

  async #removeDevice(device: ModelDevice): Promise<void> {
    const { user, sn } = device
    await this.#call(user, 'DELETE', '/user/device/remove', { query: { device_sn: sn } })
    user.devices.splice(user.devices.indexOf(device), 1)
  }

  /** Somebody else logs in on a telephone. */
  async #moveToken(device: ModelDevice): Promise<void> {
    const [found] = [...device.tokens]
    const others = this.#individuals.flatMap((user) => user.devices)
    if (!found) return
    const [channel, token] = found
    await this.#bind(this.random.pick(others), channel, token)
  }

  async #setTags(user: ModelUser): Promise<void> {
    const tag = this.random.pick(tags)
    const isThere = user.tags.has(tag)
    await this.#call(user, isThere ? 'DELETE' : 'POST', '/user/push/tag', { body: { tags: [tag] } })
    if (isThere) user.tags.delete(tag)
    else user.tags.add(tag)
  }

  async #setAlias(user: ModelUser): Promise<void> {
    const alias = `alias ${++this.#names}`
    await this.#call(user, 'POST', '/user/push/alias', { body: { alias } })
    user.alias = alias
  }

  async #setBadge(user: ModelUser): Promise<void> {
    const badge = this.random.integer(0, 9)
    await this.#call(user, 'POST', '/user/push/badge', { body: { badge } })
    user.badge = badge
  }

  async #setPreference(user: ModelUser): Promise<void> {
    const choice = this.random.integer(0, 4)
    if (choice === 0) {
      user.wantsNone = !user.wantsNone
      await this.#call(user, 'POST', '/user/push', { query: { value: user.wantsNone } })
    } else if (choice === 1) {
      user.isQuiet = !user.isQuiet
      await this.#call(user, 'POST', '/user/push/limit', { query: quietHours(user.isQuiet) })
    } else if (choice === 2) await this.#toggleDisabled(user)
    else await this.#call(user, 'POST', '/user/push/detail', { query: { value: choice === 3 } })
  }

  async #toggleDisabled(user: ModelUser): Promise<void> {
    user.isDisabled = !user.isDisabled
    const path = user.isDisabled ? '/user/disable' : '/user/enable'
    await this.nodes.call(({ api }) =>
      api.admin().succeed('PUT', path, { body: { list: [user.id] } }),
    )
    if (!user.isDisabled) return
    // The tokens are silent, and no device logs in again.
    for (const device of user.devices) {
      device.tokens.clear()
      device.paused.clear()
    }
  }

  async #call(
    user: ModelUser,
    method: string,
    path: string,
    options: Parameters<ServerProcess['api']['call']>[2],
  ): Promise<void> {
    await this.nodes.call(({ api }) =>
      api.admin({ userId: user.id }).succeed(method, path, options),
    )
  }

  #someChannels(): SimulatedChannel[] {
    const { random } = this
    return Array.from({ length: random.integer(1, 3) }, () => random.pick(simulatedChannels))
  }

  #randomToken(channel: SimulatedChannel): string {
    const { random } = this
    if (random.chance(0.6)) return this.#token(channel, 'accept')
    return this.#token(
      channel,
      random.pick([...calmScripts, 'throttle', ...failingScripts] as const),
    )
  }

  /** One that the gateway has no script for is taken. */
  #token(channel: SimulatedChannel, wished: ScriptName): string {
    const script = this.#allowed(channel, wished)
    const { prefix, iosPrefix } = scripts[script]
    const number = ++this.#names
    const token =
      channel === 'ios_gw'
        ? iosPrefix + number.toString(16).padStart(64 - iosPrefix.length, '0')
        : `${prefix}device-${number}`
    if (isFailing(script)) this.#unspent.set(channel, [...this.#unspentOf(channel), token])
    return token
  }

  #allowed(channel: SimulatedChannel, script: ScriptName): ScriptName {
    if (!isFailing(script)) return script
    if (this.#unspentOf(channel).length >= maxUnspent) return 'accept'
    if (script !== 'auth') return script
    // A second refusal in a row means that the credentials are wrong; ios_gw's may not be renewed so soon.
    if (channel === 'ios_gw' || this.#hadAuth.has(channel)) return 'accept'
    this.#hadAuth.add(channel)
    return script
  }

  #unspentOf(channel: SimulatedChannel): string[] {
    const all = this.#unspent.get(channel) ?? []
    return all.filter((token) => !this.wasTaken(channel, token))
  }

  #audience(): ModelAudience {
    const { random } = this
    const some = <T>(choices: readonly T[], max: number): T[] =>
      Array.from({ length: random.integer(1, max) }, () => random.pick(choices))
    const individuals = this.#individuals
    const kind = random.pick(['all', 'tag', 'alias', 'user_id', 'user_id', 'push_token'] as const)
    switch (kind) {
      case 'all':
        return { kind }
      case 'tag':
        return { kind, values: some([...tags, 'nobody'], 3) }
      case 'alias':
        return {
          kind,
          values: some(['nobody', ...individuals.map(({ alias }) => alias || 'x')], 8),
        }
      case 'user_id':
        return { kind, values: some([4, ...individuals.map(({ id }) => id)], 12) }
      case 'push_token': {
        const devices = individuals.flatMap((user) => user.devices)
        return { kind, values: some(['nobody', ...devices.map((each) => each.pushToken)], 8) }
      }
    }
  }

  #sequenceNames(): ('ups' | SimulatedChannel)[] {
    const { random } = this
    const names = ['ups', 'cloud_gw', ...handsets] as const
    return Array.from({ length: random.integer(1, 5) }, () => random.pick(names))
  }
}

function isFailing(script: ScriptName): boolean {
  return failingScripts.some((each) => each === script)
}

/** ios_gw has no name and is always there. */
function sequenceOf(
  names: readonly ('ups' | SimulatedChannel)[] = ['ups', 'cloud_gw'],
): SimulatedChannel[] {
  const channels = names.flatMap((name) => (name === 'ups' ? handsets : [name]))
  return [...new Set<SimulatedChannel>(['ios_gw', ...channels])]
}

function badgeOf(text: string): NonNullable<ModelTask['badge']> {
  if (text === '') return { mode: 'add', count: 1 }
  if (text.startsWith('+')) return { mode: 'add', count: Number(text) }
  return { mode: 'set', count: Number(text) }
}

/** All hours but one that is far away, or none. */
function quietHours(isQuiet: boolean) {
  const far = (new Date().getUTCHours() + 14) % 24
  return isQuiet
    ? { no_push_start_hour: (far + 1) % 24, no_push_end_hour: far }
    : { no_push_start_hour: 0, no_push_end_hour: 0 }
}
