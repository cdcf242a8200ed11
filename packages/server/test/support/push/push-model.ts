/** What push tasks must come to (rules G1 to G4), without a database and without gateways. */
import {
  type ScriptName,
  type SimulatedChannel,
  scriptOf,
  simulatedChannels,
} from '@hermod/push-simulator'

/** At least and at most; the same where there is no doubt. */
export interface Range {
  readonly min: number
  readonly max: number
}

/** A device, and its token at each gateway. */
export class ModelDevice {
  readonly tokens = new Map<SimulatedChannel, string>()
  /** Gateways that have called it out of reach. */
  readonly paused = new Set<SimulatedChannel>()

  constructor(
    readonly user: ModelUser,
    readonly sn: number,
    readonly pushToken: string,
  ) {}
}

export class ModelUser {
  readonly devices: ModelDevice[] = []
  readonly tags = new Set<string>()
  alias = ''
  /** Serial numbers are not given again. */
  lastSn = 0
  badge = 0
  isDisabled = false
  wantsNone = false
  isQuiet = false

  constructor(readonly id: number) {}

  get isSilent(): boolean {
    return this.isDisabled || this.wantsNone || this.isQuiet
  }
}

export type ModelAudience =
  | { readonly kind: 'all' }
  | { readonly kind: 'tag' | 'alias' | 'push_token'; readonly values: readonly string[] }
  | { readonly kind: 'user_id'; readonly values: readonly number[] }

export interface ModelTask {
  readonly audience: ModelAudience
  readonly strategy: 'combined' | 'corepush_only' | 'ospush_only'
  readonly sequence: readonly SimulatedChannel[]
  /** null: a command, which changes none */
  readonly badge: { readonly mode: 'set' | 'add'; readonly count: number } | null
  /**
   * Its time may end before it is sent, and gateways may refuse whole requests for the sake of one
   * token: nothing is sure but the most.
   */
  readonly isStormy: boolean
}

/** A gateway that a push to a device may go to, in order. */
interface Station {
  readonly channel: SimulatedChannel
  readonly token: string
  readonly fate: Fate
  /** It goes there if the device still has the token. */
  readonly isReached: boolean
  /** No other task can take the token away meanwhile. */
  readonly isThere: boolean
}

/**
 * `dead`: the token is cleared and the next gateway tried. `passed`: the token is kept and the next
 * gateway tried. `muted`: the gateway is left alone for a day.
 */
type Fate = 'taken' | 'dead' | 'passed' | 'muted' | 'refused'

export const handsets = [
  'vendor_h',
  'vendor_n',
  'vendor_x',
  'vendor_o',
  'vendor_v',
  'vendor_f',
] as const satisfies readonly SimulatedChannel[]

/** These take no commands, as long as nobody allows the app to send them. */
const refusesCommands: readonly SimulatedChannel[] = [
  'vendor_x',
  'vendor_f',
  'vendor_v',
  'vendor_o',
]
/** Their answers say that a device is out of reach; others tell it in receipts. */
const tellsMuted: readonly SimulatedChannel[] = ['vendor_f', 'vendor_v']

/** Tasks that run at the same time on a world that does not change otherwise. */
export class ModelRound {
  /** Tasks that end or pause a token, by {@link tokenName}. */
  readonly #enders = new Map<string, ModelTask[]>()

  constructor(
    private readonly users: readonly ModelUser[],
    private readonly tasks: readonly ModelTask[],
  ) {
    for (const task of tasks)
      for (const device of this.#devices(task))
        for (const channel of task.sequence) {
          const name = tokenName(device, channel)
          const fate = fateOf(channel, device.tokens.get(channel) ?? '', task)
          if (isMortal(fate)) this.#enders.set(name, [...(this.#enders.get(name) ?? []), task])
        }
  }

  /** What a task counts on each channel. */
  counts(
    task: ModelTask,
  ): ReadonlyMap<SimulatedChannel, { readonly target: Range; readonly sent: Range }> {
    const stations = this.#devices(task).flatMap((device) => this.#way(task, device))
    const least = (range: Range): Range => (task.isStormy ? { ...range, min: 0 } : range)
    return new Map(
      simulatedChannels.map((channel) => {
        const there = stations.filter((station) => station.channel === channel)
        const taken = there.filter(({ fate }) => fate === 'taken')
        return [channel, { target: least(rangeOf(there)), sent: least(rangeOf(taken)) }]
      }),
    )
  }

  /** Tokens that a task may be sent to, as `<channel> <token>`. */
  tokens(task: ModelTask): ReadonlySet<string> {
    const stations = this.#devices(task).flatMap((device) => this.#way(task, device))
    return new Set(stations.map(({ channel, token }) => `${channel} ${token}`))
  }

  /** The badge of a user afterwards: each task counts once, however many devices show it. */
  badge(user: ModelUser): Range {
    const added = { min: 0, max: 0 }
    const set: number[] = []
    let isSetForSure = false
    for (const task of this.tasks) {
      const { badge } = task
      const stations = this.#devices(task)
        .filter((device) => device.user === user)
        .map((device) => this.#way(task, device))
        .filter((way) => way.length > 0)
      if (badge === null || stations.length === 0) continue
      const isCertain = !task.isStormy && stations.some((way) => way.some(({ isThere }) => isThere))
      if (badge.mode === 'set') {
        set.push(badge.count)
        isSetForSure ||= isCertain
      } else {
        added.max += badge.count
        if (isCertain) added.min += badge.count
      }
    }
    const starts = isSetForSure ? set : [user.badge, ...set]
    return {
      min: Math.min(...starts) + (set.length > 0 ? 0 : added.min),
      max: Math.max(...starts) + added.max,
    }
  }

  /**
   * What the gateways' answers make of a device's token: cleared or paused, and whether for sure;
   * null: nothing.
   */
  loss(
    device: ModelDevice,
    channel: SimulatedChannel,
  ): { readonly kind: 'dead' | 'muted'; readonly isCertain: boolean } | null {
    const ends = (this.#enders.get(tokenName(device, channel)) ?? []).flatMap((task) =>
      this.#way(task, device)
        .filter((station) => station.channel === channel)
        .map(({ fate, isReached }) => ({ fate, isCertain: isReached && !task.isStormy })),
    )
    const [first] = ends
    if (first?.fate !== 'dead' && first?.fate !== 'muted') return null
    return { kind: first.fate, isCertain: ends.some(({ isCertain }) => isCertain) }
  }

  #devices(task: ModelTask): ModelDevice[] {
    const { strategy, audience } = task
    if (strategy === 'corepush_only') return []
    return this.users
      .filter((user) => !user.isSilent)
      .flatMap(({ devices }) => devices.filter((device) => isMeant(audience, device)))
  }

  #way(task: ModelTask, device: ModelDevice): Station[] {
    const way: Station[] = []
    let isReached = true
    for (const channel of task.sequence) {
      const token = device.tokens.get(channel)
      if (token === undefined || device.paused.has(channel)) continue
      const fate = fateOf(channel, token, task)
      const enders = this.#enders.get(tokenName(device, channel)) ?? []
      const mayBeGone = enders.some((each) => each !== task)
      way.push({ channel, token, fate, isReached, isThere: !mayBeGone })
      const isPassedOn = fate === 'dead' || fate === 'passed'
      if (!isPassedOn && !mayBeGone) break
      // Whether it was there and dead or was not there, the next one comes.
      if (!isPassedOn) isReached = false
    }
    return way
  }
}

function isMortal(fate: Fate): boolean {
  return fate === 'dead' || fate === 'muted'
}

function tokenName({ user, sn }: ModelDevice, channel: SimulatedChannel): string {
  return `${user.id} ${sn} ${channel}`
}

function isMeant(audience: ModelAudience, { user, pushToken }: ModelDevice): boolean {
  switch (audience.kind) {
    case 'all':
      return true
    case 'tag':
      return audience.values.some((tag) => user.tags.has(tag))
    case 'alias':
      return user.alias !== '' && audience.values.includes(user.alias)
    case 'user_id':
      return audience.values.includes(user.id)
    case 'push_token':
      return audience.values.includes(pushToken)
  }
}

const dead: readonly ScriptName[] = ['dead', 'wrong']

function fateOf(channel: SimulatedChannel, token: string, { badge }: ModelTask): Fate {
  if (badge === null && refusesCommands.includes(channel)) return 'refused'
  const script = scriptOf(token, channel === 'ios_gw')
  if (dead.includes(script)) return 'dead'
  if (script === 'config' && channel === 'ios_gw') return 'passed'
  if (script === 'muted' && tellsMuted.includes(channel)) return 'muted'
  return 'taken'
}

function rangeOf(stations: readonly Station[]): Range {
  const certain = stations.filter(({ isReached, isThere }) => isReached && isThere)
  return { min: certain.length, max: stations.length }
}
