/** Sends while the embedded database is backed up, and the verification of a backup. */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TempFolder } from '@hermod/testkit'
import { GrowthPopulation } from '../growth/growth-population.js'
import type { LoadResult } from '../load/load-run.js'
import { LoadProcess } from '../load/processes.js'
import { type Builds, type Storage, type StoredServer, usageOf } from '../measure/build.js'
import { type Effort, quiet, rateOf } from '../measure/measure.js'
import { runsDuring } from '../measure/runs-during.js'
import { type Beside, besideOf, median, type Ratio, spreadOf } from '../measure/statistics.js'
import { type CommandRun, hermodJson } from '../measure/hermod-command.js'

/** Size of the set `backup`. */
export interface BackupOptions {
  /** Size of the database, about. */
  readonly megabytes: number
}

/** Sends alone and during a backup, over the rounds. */
export interface SendsDuringBackup {
  /** Half of the rate that connections reach which send after the last answer. */
  readonly isHalf: boolean
  readonly perSecond: Beside
  readonly p50Ms: Beside
  readonly p99Ms: Beside
}

/** Figures of the set `backup`. */
export interface BackupFigures {
  readonly databaseBytes: number
  readonly messages: number
  readonly sends: readonly SendsDuringBackup[]
  readonly backupSeconds: Ratio
  /** Bytes of the log in use at the most, in each backup. */
  readonly logBytes: Ratio
  readonly verify: Omit<CommandRun, 'out'>
  readonly errors: number
  readonly errorSamples: readonly string[]
}

/** Eight pages of 4 KiB each. */
const messagesPerMegabyte = 30
const messagesPerUser = 1_000
const usersMin = 100
const connections = 64
const warmUpShare = 0.25
const lengthenSteps = 100
const addedLength = 32_000
const logSampleMs = 250
/** Runs without a backup before each one; a backup has as many as fit. */
const runsAlone = 3

/** @param onProgress reports progress */
export async function measureBackup(
  storage: Storage,
  [build]: Builds,
  { megabytes, seconds, rounds }: BackupOptions & Effort,
  onProgress: (text: string) => void,
): Promise<BackupFigures[]> {
  if (storage.name !== 'sqlite') return []
  await using server = await storage.start(build)
  const messages = megabytes * messagesPerMegabyte
  onProgress(`backup: ${messages} messages`)
  const users = Math.max(usersMin, Math.ceil(messages / messagesPerUser))
  const population = await GrowthPopulation.create(server, users)
  await population.grow(messages)
  onProgress(`backup: ${megabytes} MB`)
  await lengthen(server)
  using target = new TempFolder('bench-backups')
  using load = new LoadProcess()
  const course: Course = { server, storage, population, load, target: target.path, seconds }
  const full: Round[] = []
  const half: Round[] = []
  for (let round = 1; round <= rounds; round++) {
    onProgress(`backup: round ${round}`)
    full.push(await measureRound(course))
    onProgress(`backup: round ${round}, at half of the rate`)
    const rate = median(full.map(({ alone }) => median(alone.map(rateOf)))) / 2
    half.push(await measureRound(course, rate))
  }
  onProgress('backup: verification')
  const all = [...full, ...half]
  const { folder } = all.at(-1) as Round
  const { seconds: took, peakBytes } = await hermodJson(['backup', 'verify', folder], {
    HERMOD_DATA_DIR: server.process.dataDir,
  })
  const loads = all.flatMap(({ alone, during }) => [...alone, ...during])
  return [
    {
      databaseBytes: await server.databaseBytes(),
      messages,
      sends: [sendsOf(full, false), sendsOf(half, true)],
      backupSeconds: spreadOf(all.map((round) => round.seconds)),
      logBytes: spreadOf(all.map((round) => round.logBytes)),
      verify: { seconds: took, peakBytes },
      errors: loads.reduce((total, { errors }) => total + errors, 0),
      errorSamples: [...new Set(loads.flatMap(({ errorSamples }) => errorSamples))],
    },
  ]
}

/** Makes the texts so long that each message fills eight pages of the database, in short transactions. */
async function lengthen(server: StoredServer): Promise<void> {
  const [row] = await server.sql('select min(low_id) as first, max(low_id) as last from messages')
  const [first, last] = [Number(row?.first), Number(row?.last)]
  const step = Math.ceil((last - first + 1) / lengthenSteps)
  for (let from = first; from <= last; from += step)
    await server.sql(
      `update messages set content = content || '${'x'.repeat(addedLength)}' where low_id >= ${from} and low_id < ${from + step}`,
    )
}

interface Course {
  readonly server: StoredServer
  readonly storage: Storage
  readonly population: GrowthPopulation
  readonly load: LoadProcess
  /** The folder of the backups. */
  readonly target: string
  readonly seconds: number
}

interface Round {
  readonly alone: readonly LoadResult[]
  readonly during: readonly LoadResult[]
  readonly folder: string
  readonly seconds: number
  readonly logBytes: number
}

/** Measures sends alone, then during a backup. @param perSecond omitted: as many as are answered */
async function measureRound(course: Course, perSecond?: number): Promise<Round> {
  const { server, storage, population, load, target, seconds } = course
  await quiet([usageOf(server, storage)])
  const run = (warmUpMs: number) =>
    load.run({
      ...{ port: population.port, plan: population.sendPlan(), connections, minBodyBytes: 0 },
      ...{ warmUpMs, measureMs: seconds * 1_000 },
      ...(perSecond !== undefined && { perSecond }),
    })
  const alone: LoadResult[] = []
  for (let count = 0; count < runsAlone; count++)
    alone.push(await run(count === 0 ? seconds * warmUpShare * 1_000 : 0))
  using log = watchLog(server.process.url)
  const backup = makeBackup(target, server.process.dataDir)
  const { result, runs: during } = await runsDuring(backup, () => run(0))
  return { alone, during, ...result, logBytes: log.largest() }
}

/** Makes a backup and removes those before it. */
async function makeBackup(target: string, dataDir: string) {
  type Job = { readonly result: { readonly name: string } }
  const settings = { HERMOD_DATA_DIR: dataDir }
  const { json, seconds } = await hermodJson<Job>(['backup', 'create', '--to', target], settings)
  const folder = join(target, json.result.name)
  await stat(join(folder, 'COMPLETE'))
  const { json: list } = await hermodJson<{ readonly backups: readonly { name: string }[] }>(
    ['backup', 'list', '--to', target],
    settings,
  )
  for (const { name } of list.backups)
    if (name !== json.result.name) await rm(join(target, name), { recursive: true })
  return { folder, seconds }
}

interface LogWatch extends Disposable {
  /** The largest size in use so far, bytes. */
  largest(): number
}

function watchLog(url: string): LogWatch {
  let largest = 0
  const ended = new AbortController()
  const watch = async () => {
    while (!ended.signal.aborted) {
      const text = await (await fetch(`${url}/metrics`)).text()
      largest = Math.max(largest, Number(/^hermod_wal_bytes (\S+)/m.exec(text)?.[1] ?? 0))
      await sleep(logSampleMs)
    }
  }
  watch().catch(() => {})
  return { largest: () => largest, [Symbol.dispose]: () => ended.abort() }
}

function sendsOf(rounds: readonly Round[], isHalf: boolean): SendsDuringBackup {
  const figure = (read: (load: LoadResult) => number) =>
    besideOf({
      alone: rounds.map(({ alone }) => median(alone.map(read))),
      beside: rounds.map(({ during }) => median(during.map(read))),
    })
  return {
    isHalf,
    perSecond: figure(rateOf),
    p50Ms: figure(({ p50Ms }) => p50Ms),
    p99Ms: figure(({ p99Ms }) => p99Ms),
  }
}
