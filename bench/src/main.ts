/**
 * `npm run bench`: the rates of the service compared with a bare echo. See the README for the
 * method.
 */
import {
  type Builds,
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
import { namedSets } from './named-sets.js'
import { type BenchOptions, parseOptions, type SetName, UsageError, usage } from './options.js'
import { describeMachine } from './report/machine.js'
import { formatReport, type GroupFill, type Report } from './report/report.js'

async function run(options: BenchOptions): Promise<Report> {
  const machine = describeMachine()
  const builds = findBuilds(options.against)
  const notes: string[] = []
  const startups: StartupFigures[] = []
  const rows: ResultRow[] = []
  const compared: ComparedRow[] = []
  const groupFills: GroupFill[] = []
  const named: Partial<Record<SetName, object[]>> = {}
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
    for (const { name, measure: measureSet } of namedSets) {
      const own = options.named[name]
      if (own === undefined) continue
      const figures = await measureSet(storage, builds, { ...options, ...own }, onProgress)
      named[name] = [...(named[name] ?? []), ...figures]
    }
  }
  return {
    machine,
    named,
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
  builds: Builds,
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
  const { rows, compared, named } = report
  const figures = [...rows, ...compared, ...Object.values(named).flat()]
  return figures.some((each) => 'errors' in each && each.errors !== 0) ? 1 : 0
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
