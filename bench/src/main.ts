/**
 * `npm run bench`: the rates of the service compared with a bare echo. See the README for the
 * method.
 */
import { type CallsFigures, measureCalls } from './calls/calls.js'
import { type ClientFigures, measureClient } from './client/client.js'
import { type FileRow, measureFiles } from './files/files.js'
import { type GrowthRow, measureGrowth } from './growth/growth.js'
import {
  type Build,
  type FilledBuild,
  findBuilds,
  populate,
  postgresStorage,
  Servers,
  type Storage,
  sqliteStorage,
} from './measure/build.js'
import { type ComparedRow, compareBuilds } from './measure/compare.js'
import { measure, type ResultRow } from './measure/measure.js'
import { measureStartup, type StartupFigures } from './measure/startup.js'
import { type BenchOptions, parseOptions, UsageError, usage } from './options.js'
import { measurePush, type PushFigures } from './push/push.js'
import { measureRealtime, type RealtimeFigures } from './realtime/realtime.js'
import { describeMachine } from './report/machine.js'
import { formatReport, type GroupFill, type Report } from './report/report.js'
import { measureWebhooks, type WebhookFigures } from './webhooks/webhooks.js'

async function run(options: BenchOptions): Promise<Report> {
  const machine = describeMachine()
  const builds = findBuilds(options.against)
  const notes: string[] = []
  const startups: StartupFigures[] = []
  const rows: ResultRow[] = []
  const compared: ComparedRow[] = []
  const groupFills: GroupFill[] = []
  const growth: GrowthRow[] = []
  const push: PushFigures[] = []
  const files: FileRow[] = []
  const realtime: RealtimeFigures[] = []
  const client: ClientFigures[] = []
  const webhooks: WebhookFigures[] = []
  const calls: CallsFigures[] = []
  if (machine.dataInMemory)
    notes.push(
      'the temporary folder is in memory: set TMPDIR to a folder on disk for figures about durable writes',
    )
  for (const openStorage of storages(options.only, machine.postgres, notes)) {
    await using storage = await openStorage()
    const onProgress = (text: string) => progress(`${storage.name}: ${text}`)
    if (options.chosen.length > 0) {
      onProgress('start-up')
      startups.push(await measureStartup(storage, builds))
      const measured = await measureAll(storage, builds, options, onProgress)
      rows.push(...measured.rows)
      compared.push(...measured.compared)
      groupFills.push(...measured.groupFills)
    }
    if (options.growth)
      growth.push(
        ...(await measureGrowth(storage, builds, { ...options, ...options.growth }, onProgress)),
      )
    if (options.push) {
      const own = builds[0] as Build
      push.push(await measurePush(storage, own, { ...options, ...options.push }, onProgress))
    }
    if (options.realtime) {
      const own = builds[0] as Build
      realtime.push(
        await measureRealtime(storage, own, { ...options, ...options.realtime }, onProgress),
      )
    }
    if (options.client) {
      const own = builds[0] as Build
      client.push(await measureClient(storage, own, { ...options, ...options.client }, onProgress))
    }
    if (options.calls) {
      const own = builds[0] as Build
      calls.push(await measureCalls(storage, own, options.calls, onProgress))
    }
    if (options.webhooks) {
      const own = builds[0] as Build
      webhooks.push(
        await measureWebhooks(storage, own, { ...options, ...options.webhooks }, onProgress),
      )
    }
    if (options.files)
      files.push(...(await measureFiles(storage, builds[0] as Build, options, onProgress)))
  }
  return {
    machine,
    growth,
    push: {
      channels: push.flatMap(({ channels }) => channels),
      crowds: push.flatMap(({ crowds }) => crowds),
    },
    files,
    realtime,
    client,
    webhooks,
    calls,
    effort: { seconds: options.seconds, rounds: options.rounds, starts: options.starts },
    startups,
    rows,
    compared,
    groupFills,
    notes,
  }
}

function storages(
  only: string | null,
  postgres: string | null,
  notes: string[],
): (() => Storage | Promise<Storage>)[] {
  if (only === 'sqlite') return [sqliteStorage]
  if (only === 'postgres') return [postgresStorage]
  if (postgres !== null) return [sqliteStorage, postgresStorage]
  notes.push('PostgreSQL 15 or newer was not found and is left out')
  return [sqliteStorage]
}

async function measureAll(
  storage: Storage,
  builds: readonly Build[],
  { chosen, groupSize, crowdSize, ...effort }: BenchOptions,
  onProgress: (text: string) => void,
): Promise<Pick<Report, 'rows' | 'compared' | 'groupFills'>> {
  await using servers = await Servers.start(storage, builds)
  const conversations = chosen.flat().some(({ needsConversations }) => needsConversations)
  const filled: FilledBuild[] = []
  for (const server of servers.all) {
    onProgress('filling')
    filled.push(
      await populate(server, storage, { conversations, groupSize, crowdSize, onProgress }),
    )
  }
  const [own, other] = filled as [FilledBuild, FilledBuild | undefined]
  const rows: ResultRow[] = []
  const compared: ComparedRow[] = []
  for (const set of chosen) {
    for (const { what } of set) onProgress(what)
    if (other) compared.push(...(await compareBuilds(set, [own, other], effort)))
    else rows.push(...(await measure(set, own, effort)))
  }
  const figures = await own.groupFill()
  return { rows, compared, groupFills: figures ? [{ database: storage.name, ...figures }] : [] }
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** A missed target is a finding, not a failure; a wrong answer is a failure. */
async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2))
  if (options === null) {
    process.stdout.write(usage)
    return 0
  }
  const report = await run(options)
  process.stdout.write(`${options.json ? JSON.stringify(report, null, 2) : formatReport(report)}\n`)
  const { rows, compared, growth, push, files, webhooks } = report
  return [...rows, ...compared, ...growth, ...push.crowds, ...files, ...webhooks].some(
    ({ errors }) => errors > 0,
  )
    ? 1
    : 0
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(
    error instanceof UsageError
      ? `${error.message}\n\n${usage}`
      : `bench: ${(error as Error).stack}\n`,
  )
  process.exitCode = error instanceof UsageError ? 2 : 1
}
