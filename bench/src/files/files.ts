/**
 * Uploads and downloads of the service, compared with a bare server that writes and reads the same
 * files with the same syncs.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoadFigures } from '../load/load-run.js'
import { load } from '../load/processes.js'
import {
  type Builds,
  portOf,
  Servers,
  type Storage,
  type StoredServer,
  usageOf,
} from '../measure/build.js'
import { type Effort, loadServer, quiet, rateOf, type ServerRun } from '../measure/measure.js'
import { median, ratioOf, sum } from '../measure/statistics.js'
import { makeUsers } from '../population/people.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import { BenchCaller, uploadBody, uploadHead } from './file-caller.js'
import type { FileLoadOrder } from './file-load-run.js'
import { type BareFiles, startBareFiles } from './file-processes.js'
import { type FileScenario, fileScenarios, maxStored } from './file-scenarios.js'

/**
 * One line of the table. Rates are per second. Rates and CPU figures are medians over the rounds,
 * latencies those of the service.
 */
export interface FileRow {
  readonly database: DatabaseName
  readonly scenario: FileScenario
  readonly barePerSecond: number
  readonly perSecond: number
  /** The median of the shares of each round. */
  readonly ofBare: number
  /** Errors of all rounds, including those of the bare server. */
  readonly errors: number
  readonly errorSamples: readonly string[]
  readonly p50Ms: number
  /** Worst round, as is the maximum. */
  readonly p99Ms: number
  readonly maxMs: number
  /** CPU time of one request, as are the two below. */
  readonly serverCpuUs: number
  readonly databaseCpuUs: number
  readonly bareCpuUs: number
  /** CPU time of the load process by wall time, while it loaded the service. */
  readonly loadCpuShare: number
  readonly rssBytes: number
  readonly missed: readonly string[]
}

type Run = ServerRun<LoadFigures>

interface FileCourse {
  readonly scenario: FileScenario
  readonly storage: Storage
  readonly server: StoredServer
  readonly bare: BareFiles
  readonly caller: BenchCaller
  readonly seconds: number
}

const warmUpShare = 0.25
/**
 * Tickets per file of the bare server: the service may be faster by this factor before tickets run
 * out.
 */
const ticketReserve = 1.5
/** Number of files after which nearly all of 1,024 folders contain one. */
const filledFiles = 4_000
/** Maximum number and size of the files that are downloaded in turn. */
const maxDownloaded = { files: 64, bytes: 1e8 }

/** @param onProgress reports progress */
export async function measureFiles(
  storage: Storage,
  [build]: Builds,
  { seconds, rounds }: Effort,
  onProgress: (text: string) => void,
): Promise<FileRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'hermod-bare-files-'))
  try {
    using bare = await startBareFiles(folder)
    await using servers = await Servers.start(storage, [build])
    const server = servers.all[0] as StoredServer
    const caller = new BenchCaller(server.process, await makeUsers(server.process.api))
    const common = { storage, server, bare, caller, seconds }
    onProgress('files: filling')
    await fillFolders({ ...common, scenario: fileScenarios[0] as FileScenario })
    const rows: FileRow[] = []
    for (const scenario of fileScenarios) {
      onProgress(scenario.name)
      const course = { ...common, scenario }
      rows.push(await measureScenario(course, rounds))
    }
    return rows
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes the service create its folders, which happens at their first use. */
async function fillFolders(course: FileCourse): Promise<void> {
  const tickets = await course.caller.tickets(filledFiles)
  const paths = tickets.map(({ upload }) => upload)
  const port = portOf(course.server)
  await storeFiles(course, { port, paths, body: uploadBody(course.scenario.bytes) })
}

async function measureScenario(course: FileCourse, rounds: number): Promise<FileRow> {
  const next = course.scenario.kind === 'upload' ? uploads(course) : await downloads(course)
  const usage = usageOf(course.server, course.storage)
  const bareRuns: Run[] = []
  const ownRuns: Run[] = []
  for (let round = 0; round < rounds; round++) {
    await quiet([usage])
    const bareOrder = await next.bare()
    const bareUsage = { ...usage, serverCpuMs: course.bare.cpuMs }
    const bareRun = await loadServer(bareUsage, (events) => load(bareOrder, events))
    bareRuns.push(bareRun)
    await quiet([usage])
    const ownOrder = await next.own(rateOf(bareRun.load))
    ownRuns.push(await loadServer(usage, (events) => load(ownOrder, events)))
  }
  return summariseCourses(course, bareRuns, ownRuns)
}

/** The loads of one round. */
interface Loads {
  bare(): Promise<FileLoadOrder>
  /** @param barePerSecond rate of the bare server in the same round */
  own(barePerSecond: number): Promise<FileLoadOrder>
}

/** Loads in which every file has a new name, as every ticket is for one file. */
function uploads(course: FileCourse): Loads {
  const { scenario, bare, server, caller } = course
  const body = uploadBody(scenario.bytes)
  let names = 0
  const common = { ...orderOf(course), body, answerBytes: null }
  return {
    async bare() {
      const count = Math.min(maxStored.files, Math.floor(maxStored.bytes / scenario.bytes))
      const heads = Array.from({ length: count }, () =>
        uploadHead(`/${scenario.name}-${names++}`, body),
      )
      return { ...common, port: bare.port, heads, repeats: false }
    },
    async own(barePerSecond) {
      const seconds = course.seconds * (1 + warmUpShare)
      const count = Math.ceil(barePerSecond * seconds * ticketReserve) + scenario.connections
      const tickets = await caller.tickets(count)
      const heads = tickets.map(({ upload }) => uploadHead(upload, body))
      return { ...common, port: portOf(server), heads, repeats: false }
    },
  }
}

/** Loads of files that both servers have stored before. */
async function downloads(course: FileCourse): Promise<Loads> {
  const { scenario, bare, server, caller } = course
  const body = uploadBody(scenario.bytes)
  const tickets = await caller.tickets(
    Math.min(maxDownloaded.files, Math.floor(maxDownloaded.bytes / scenario.bytes)),
  )
  const names = tickets.map((_, index) => `/${scenario.name}-${index}`)
  const ownPort = portOf(server)
  await storeFiles(course, { port: bare.port, paths: names, body })
  await storeFiles(course, { port: ownPort, paths: tickets.map(({ upload }) => upload), body })
  const common = { ...orderOf(course), body: new Uint8Array(), repeats: true }
  const bareHeads = names.map((name) => `GET ${name} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
  const ownHeads = tickets.map((ticket) => caller.downloadHead(ticket))
  return {
    // It stores the form unchanged.
    bare: async () => ({ ...common, port: bare.port, heads: bareHeads, answerBytes: body.length }),
    own: async () => ({ ...common, port: ownPort, heads: ownHeads, answerBytes: scenario.bytes }),
  }
}

/** @throws Error when not all files could be stored */
async function storeFiles(
  course: FileCourse,
  {
    port,
    paths,
    body,
  }: { readonly port: number; readonly paths: readonly string[]; readonly body: Uint8Array },
): Promise<void> {
  const { errors, errorSamples } = await load({
    ...orderOf(course),
    port,
    body,
    heads: paths.map((path) => uploadHead(path, body)),
    repeats: false,
    answerBytes: null,
    warmUpMs: 0,
    measureMs: Number.POSITIVE_INFINITY,
  })
  if (errors > 0) throw new Error(`storing files failed: ${errorSamples.join('\n')}`)
}

function orderOf({ scenario, seconds }: FileCourse) {
  return {
    connections: scenario.connections,
    warmUpMs: seconds * warmUpShare * 1000,
    measureMs: seconds * 1000,
  }
}

function summariseCourses(
  { scenario, storage, server }: FileCourse,
  bareRuns: readonly Run[],
  ownRuns: readonly Run[],
): FileRow {
  const rates = ownRuns.map((run) => rateOf(run.load))
  const bareRates = bareRuns.map((run) => rateOf(run.load))
  const ofBare = ratioOf(rates, bareRates).median
  const loads = ownRuns.map(({ load }) => load)
  const all = [...loads, ...bareRuns.map(({ load }) => load)]
  const cpuUs = (runs: readonly Run[], key: 'serverCpuMs' | 'databaseCpuMs') =>
    median(runs.map((one) => (one[key] * 1000) / one.load.succeeded))
  return {
    database: storage.name,
    scenario,
    barePerSecond: median(bareRates),
    perSecond: median(rates),
    ofBare,
    errors: sum(all.map(({ errors }) => errors)),
    errorSamples: all.flatMap(({ errorSamples }) => errorSamples),
    p50Ms: median(loads.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...loads.map(({ p99Ms }) => p99Ms)),
    maxMs: Math.max(...loads.map(({ maxMs }) => maxMs)),
    serverCpuUs: cpuUs(ownRuns, 'serverCpuMs'),
    databaseCpuUs: cpuUs(ownRuns, 'databaseCpuMs'),
    bareCpuUs: cpuUs(bareRuns, 'serverCpuMs'),
    loadCpuShare: median(loads.map(({ cpuMs, seconds }) => cpuMs / 1000 / seconds)),
    rssBytes: server.process.rssBytes(),
    missed: ofBare >= scenario.share ? [] : ['share'],
  }
}
