import { parseArgs } from 'node:util'
import type { BackupOptions } from './backup/backup.js'
import type { CallsOptions } from './calls/calls.js'
import type { ClientEffort } from './client/client.js'
import type { GrowthOptions } from './growth/growth.js'
import type { ComparisonEffort } from './measure/compare.js'
import type { Effort } from './measure/measure.js'
import type { NodesOptions } from './nodes/nodes.js'
import { type OnlineOptions, onlineParts } from './online/online.js'
import type { PushOptions } from './push/push.js'
import type { ReactionsOptions } from './reactions/reactions.js'
import type { RealtimeOptions } from './realtime/realtime.js'
import { scenarios } from './scenarios/direct-scenarios.js'
import { type Scenario, setOf } from './scenarios/scenario.js'
import type { StreamsOptions } from './streams/streams.js'
import type { WebhookOptions } from './webhooks/webhooks.js'

const sets = [...new Set(scenarios.map(setOf))]

/** Text of `--help`. */
export const usage = `Usage: npm run bench -- [options]

  --seconds N       measured time of each run, default 8
  --rounds N        how often echo and server take turns, default 2; with --against how
                    often both builds are started anew, default 3, but not for
                    growth, which starts them once and keeps its 2 rounds
  --only NAME       sqlite or postgres; default: both when PostgreSQL 15 or newer is found
  --scenario NAMES  ${sets.join(', ')}, growth, push, files, realtime,
                    online, reactions, streams, client, webhooks, calls, nodes, backup;
                    several with commas; default: all but the last twelve
  --against FOLDER  another build to measure in turns with this one, in place of the echo
                    (growth keeps its echo; push and files measure this build alone):
                    a checkout of any commit after npm ci and npm run build
  --members N       size of the large group, default 100000
  --crowd N         recipients of broadcasts and pushes, default 1000000
  --growth-steps L  numbers of messages at which growth measures, with commas,
                    default 0,1000000,2000000,5000000
  --growth-users N  users of growth, default 10000
  --push-devices N  devices on each channel, default 20000
  --push-parts L    channels, crowd, or both with a comma, which is the default
  --devices N       connected devices of realtime, online, reactions and nodes, and
                    clients of calls, default 5000; of online 1000
  --online-parts L  ${onlineParts.join(', ')}, with commas; default: all
  --stream-devices N connected devices of streams, default 1000
  --conversations N conversations of a user of client, default 5000
  --messages N      messages that client applies, default 10000
  --backup-mb N     size of the database that backup copies, default 5000
  --events N        events that a receiver of webhooks missed, default 100000
  --json            the report as JSON
`

/** Options of the sets that are measured only when they are named. */
export interface SetOptions {
  readonly growth: GrowthOptions
  readonly push: PushOptions
  readonly files: object
  readonly realtime: RealtimeOptions
  readonly online: OnlineOptions
  readonly reactions: ReactionsOptions
  readonly streams: StreamsOptions
  readonly client: ClientEffort
  readonly webhooks: WebhookOptions
  readonly calls: CallsOptions
  readonly nodes: NodesOptions
  readonly backup: BackupOptions
}

/** Name of a set that is measured only when it is named. */
export type SetName = keyof SetOptions

/** Options of a run of the bench. */
export interface BenchOptions extends Effort, ComparisonEffort {
  readonly only: string | null
  /** Sets of scenarios to measure together, in order. */
  readonly chosen: readonly (readonly Scenario[])[]
  readonly groupSize: number
  /** Number of recipients of broadcasts. */
  readonly crowdSize: number
  /** Those of the sets that are named. */
  readonly named: Partial<SetOptions>
  /** Checkout of another build to compare with. */
  readonly against: string | null
  readonly json: boolean
}

// Each user starts 25 conversations with users who do not start one with it.
const growthUsersMin = 100
const defaultDevices = '5000'
/** Senders, each with a receiver. */
const devicesMin = 200
/** The members of the largest group. */
const streamDevicesMin = 500
/** The number that the screen of another user has. */
const conversationsMin = 100
/** Enough for the users that growth needs. */
const backupMegabytesMin = 500
/** Some seconds of sending. */
const webhookEventsMin = 1_000

const pushParts = ['channels', 'crowd'] as const

/** An option that is unknown, or has a value that is not allowed. */
export class UsageError extends Error {}

/** @returns null when help is requested */
export function parseOptions(args: readonly string[]): BenchOptions | null {
  const values = parse(args)
  const { seconds, rounds, only, scenario, members, crowd, against, json, help } = values
  if (help) return null
  if (only !== undefined && only !== 'sqlite' && only !== 'postgres')
    throw new UsageError('--only must be sqlite or postgres')
  return {
    seconds: positive('--seconds', seconds),
    rounds: positive('--rounds', rounds ?? '2'),
    starts: positive('--rounds', rounds ?? '3'),
    only: only ?? null,
    chosen: chooseScenarios(scenario),
    groupSize: positive('--members', members),
    crowdSize: positive('--crowd', crowd),
    named: Object.fromEntries(
      Object.entries(setOptions)
        .filter(([name]) => names(scenario).includes(name))
        .map(([name, read]) => [name, read(values)]),
    ),
    against: against ?? null,
    json,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seconds: { type: 'string', default: '8' },
        rounds: { type: 'string' },
        only: { type: 'string' },
        scenario: { type: 'string', default: 'all' },
        members: { type: 'string', default: '100000' },
        crowd: { type: 'string', default: '1000000' },
        'push-devices': { type: 'string', default: '20000' },
        'push-parts': { type: 'string', default: pushParts.join() },
        devices: { type: 'string' },
        'online-parts': { type: 'string', default: onlineParts.join() },
        'stream-devices': { type: 'string', default: '1000' },
        conversations: { type: 'string', default: '5000' },
        messages: { type: 'string', default: '10000' },
        events: { type: 'string', default: '100000' },
        'backup-mb': { type: 'string', default: '5000' },
        against: { type: 'string' },
        'growth-steps': { type: 'string', default: '0,1000000,2000000,5000000' },
        'growth-users': { type: 'string', default: '10000' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

const setOptions: {
  readonly [Name in SetName]: (values: ReturnType<typeof parse>) => SetOptions[Name]
} = {
  growth: (values) => ({
    steps: ascending('--growth-steps', values['growth-steps']),
    users: atLeast('--growth-users', values['growth-users'], growthUsersMin),
  }),
  push: (values) => {
    const parts = partsOf('--push-parts', values['push-parts'], pushParts)
    return {
      devices: parts.includes('channels') ? positive('--push-devices', values['push-devices']) : 0,
      crowdSize: parts.includes('crowd') ? positive('--crowd', values.crowd) : 0,
    }
  },
  files: () => ({}),
  realtime: (values) => {
    const devices = devicesOf(values)
    return { devices, conversations: devices - 1 }
  },
  online: ({ devices, rounds, ...values }) => ({
    parts: partsOf('--online-parts', values['online-parts'], onlineParts),
    devices: atLeast('--devices', devices ?? '1000', devicesMin),
    starts: positive('--rounds', rounds ?? '3'),
  }),
  reactions: (values) => ({ devices: devicesOf(values) }),
  streams: (values) => ({
    devices: atLeast('--stream-devices', values['stream-devices'], streamDevicesMin),
  }),
  client: ({ conversations, messages }) => ({
    conversations: atLeast('--conversations', conversations, conversationsMin),
    messages: positive('--messages', messages),
  }),
  webhooks: ({ events }) => ({ events: atLeast('--events', events, webhookEventsMin) }),
  calls: ({ devices }) => ({ clients: positive('--devices', devices ?? defaultDevices) }),
  nodes: (values) => ({ devices: devicesOf(values) }),
  backup: (values) => ({
    megabytes: atLeast('--backup-mb', values['backup-mb'], backupMegabytesMin),
  }),
}

function devicesOf({ devices = defaultDevices }: ReturnType<typeof parse>): number {
  return atLeast('--devices', devices, devicesMin)
}

function positive(name: string, text: string): number {
  return atLeast(name, text, 1)
}

function atLeast(name: string, text: string, min: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= min) return value
  throw new UsageError(`${name} must be a whole number from ${min} on`)
}

function partsOf<Part extends string>(
  name: string,
  text: string,
  known: readonly Part[],
): readonly Part[] {
  return names(text).map((part) => {
    const found = known.find((each) => each === part)
    if (found === undefined) throw new UsageError(`${name} does not know ${part}`)
    return found
  })
}

function ascending(name: string, text: string): number[] {
  const steps = text.split(',').map((step) => atLeast(name, step, 0))
  if (steps.every((step, index) => index === 0 || step > (steps[index - 1] ?? 0))) return steps
  throw new UsageError(`${name} must ascend`)
}

function names(text: string): string[] {
  return text.split(',')
}

function chooseScenarios(text: string): readonly (readonly Scenario[])[] {
  const asked = names(text)
  const known = ['all', ...Object.keys(setOptions), ...sets]
  const unknown = asked.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new UsageError(`--scenario does not know ${unknown}`)
  const chosen = sets.filter((set) => asked.includes('all') || asked.includes(set))
  return chosen.map((set) => scenarios.filter((scenario) => setOf(scenario) === set))
}
