import { setTimeout as sleep } from 'node:timers/promises'
import { exchange, type LoadOrder, type LoadResult } from './load-run.js'
import { type Plan, requestSource } from './plan.js'
import { type Echo, load, startEcho } from './processes.js'
import type { DatabaseName, Population, Scenario, Target } from './scenario.js'

/** A running server as the measurement sees it. */
export interface Subject {
  readonly database: DatabaseName
  readonly port: number
  readonly population: Population
  serverCpuMs(): number
  /** 0 for the embedded database. */
  databaseCpuMs(): number
  rssBytes(): number
}

export interface Effort {
  /** Measured time of one run. */
  readonly seconds: number
  /** How often echo and server take turns. */
  readonly rounds: number
}

/** The echo and the server, one after the other, under the same requests. */
interface Round {
  readonly echo: LoadResult
  readonly server: LoadResult
  readonly serverCpuMs: number
  readonly databaseCpuMs: number
}

/** One line of the table. Rates are per second and medians over the rounds; latencies are of the server. */
export interface Row {
  readonly database: DatabaseName
  readonly scenario: string
  readonly what: string
  readonly connections: number
  readonly echoPerSecond: number
  readonly offeredPerSecond: number
  readonly achievedPerSecond: number
  /** Achieved by the echo's rate: the median of the rounds' own shares. */
  readonly share: number
  /** The same, by the rate of the scenario that the target names; null: it names none. */
  readonly ofOther: number | null
  /** Of all rounds, the echo's included. */
  readonly errors: number
  readonly errorSamples: readonly string[]
  readonly p50Ms: number
  /** The worst round's, as is the maximum. */
  readonly p99Ms: number
  readonly maxMs: number
  readonly serverCpuUs: number
  readonly databaseCpuUs: number
  /** CPU of the load process by wall time, while it loaded the server: near 1 it is the bottleneck itself. */
  readonly loadCpuShare: number
  readonly rssBytes: number
  readonly target: Target | null
  /** What was missed; empty: nothing. */
  readonly missed: readonly string[]
}

const warmUpShare = 0.25

/** A scenario with its echo and the rounds it has had. */
interface Course {
  readonly scenario: Scenario
  readonly nextPlan: () => Plan
  readonly sample: string
  readonly echo: Echo
  readonly rounds: Round[]
}

// Rounds of a set are shorter by so much, and there are more of them: what is compared lies closer together in time.
const setRounds = 2

/**
 * Echo and server take turns, so that a slow minute of the machine hits both. Of a set, all echoes have their turn and then all scenarios,
 * every second round in the reverse order.
 */
export async function measure(
  set: readonly Scenario[],
  subject: Subject,
  { seconds, rounds }: Effort,
): Promise<Row[]> {
  const split = set.length > 1 ? setRounds : 1
  const courses: Course[] = []
  try {
    for (const scenario of set) courses.push(await prepareCourse(scenario, subject))
    for (let round = 0; round < rounds * split; round++) {
      await runRound(subject, round % 2 === 0 ? courses : courses.toReversed(), seconds / split)
    }
    return courses.map((course) => summarise(course, courses, subject))
  } finally {
    for (const { echo } of courses) echo[Symbol.dispose]()
  }
}

async function prepareCourse(scenario: Scenario, subject: Subject): Promise<Course> {
  const nextPlan = await scenario.prepare(subject.population)
  const sample = await sampleAnswer(nextPlan(), subject.port)
  return { scenario, nextPlan, sample, echo: await startEcho(sample), rounds: [] }
}

/** A real answer to the first request, for the echo to give. */
async function sampleAnswer(plan: Plan, port: number): Promise<string> {
  const request = requestSource(plan)()
  if (request === null) throw new Error('the scenario has no requests')
  return exchange(port, request)
}

async function runRound(
  subject: Subject,
  courses: readonly Course[],
  seconds: number,
): Promise<void> {
  const turns = courses.map((course) => ({ course, order: orderOf(course, seconds) }))
  const echoes: LoadResult[] = []
  for (const { course, order } of turns) {
    await quiet(subject)
    echoes.push(await load({ ...order, port: course.echo.port }))
  }
  for (const [index, { course, order }] of turns.entries()) {
    await quiet(subject)
    const cpu = new CpuWatch(subject)
    const server = await load({ ...order, port: subject.port }, cpu)
    course.rounds.push({ echo: echoes[index] as LoadResult, server, ...cpu.used })
  }
}

function orderOf({ scenario, nextPlan, sample }: Course, seconds: number): Omit<LoadOrder, 'port'> {
  return {
    connections: scenario.connections,
    plan: nextPlan(),
    measureMs: seconds * 1000,
    warmUpMs: seconds * 1000 * warmUpShare,
    // A page with fewer entries than the sample is no full answer; IDs and names differ by a few digits only.
    minBodyBytes: sample.length / 2,
    failureText: scenario.failureText,
  }
}

const quietCheckMs = 250
const quietCpuShare = 0.1
const quietChecksMax = 40

/** Waits, but not for ever, until the server and its database have finished what an earlier run left them to do: it would slow the echo. */
async function quiet({ serverCpuMs, databaseCpuMs }: Subject): Promise<void> {
  const usedMs = () => serverCpuMs() + databaseCpuMs()
  for (let checks = 0; checks < quietChecksMax; checks++) {
    const before = usedMs()
    await sleep(quietCheckMs)
    if (usedMs() - before <= quietCheckMs * quietCpuShare) return
  }
}

/** The CPU time between the beginning and the end of the measured time. */
class CpuWatch {
  used = { serverCpuMs: 0, databaseCpuMs: 0 }
  #before = this.used

  constructor(private readonly subject: Subject) {}

  measuring(): void {
    this.#before = this.#read()
  }

  measured(): void {
    const now = this.#read()
    this.used = {
      serverCpuMs: now.serverCpuMs - this.#before.serverCpuMs,
      databaseCpuMs: now.databaseCpuMs - this.#before.databaseCpuMs,
    }
  }

  #read() {
    return { serverCpuMs: this.subject.serverCpuMs(), databaseCpuMs: this.subject.databaseCpuMs() }
  }
}

function summarise({ scenario, rounds }: Course, set: readonly Course[], subject: Subject): Row {
  const servers = rounds.map(({ server }) => server)
  const all = rounds.flatMap(({ echo, server }) => [echo, server])
  const target = scenario.targets[subject.database] ?? null
  const other =
    target?.ofOther && set.find((course) => course.scenario.name === target.ofOther?.name)
  const figures = {
    share: median(rounds.map(({ echo, server }) => rate(server) / rate(echo))),
    ofOther: target?.ofOther
      ? median(rounds.map(({ server }, round) => rate(server) / rateOf(other?.rounds[round])))
      : null,
    p99Ms: Math.max(...servers.map((server) => server.p99Ms)),
    maxMs: Math.max(...servers.map((server) => server.maxMs)),
  }
  return {
    database: subject.database,
    scenario: scenario.name,
    what: scenario.what,
    connections: scenario.connections,
    echoPerSecond: median(rounds.map(({ echo }) => rate(echo))),
    offeredPerSecond: median(servers.map(({ issued, seconds }) => issued / seconds)),
    achievedPerSecond: median(servers.map(rate)),
    ...figures,
    errors: sum(all.map(({ errors }) => errors)),
    errorSamples: [...new Set(all.flatMap(({ errorSamples }) => errorSamples))],
    p50Ms: median(servers.map((server) => server.p50Ms)),
    serverCpuUs: median(
      rounds.map(({ server, serverCpuMs }) => (serverCpuMs * 1000) / server.succeeded),
    ),
    databaseCpuUs: median(
      rounds.map(({ server, databaseCpuMs }) => (databaseCpuMs * 1000) / server.succeeded),
    ),
    loadCpuShare: median(servers.map(({ cpuMs, seconds }) => cpuMs / 1000 / seconds)),
    rssBytes: subject.rssBytes(),
    target,
    missed: target ? judge(target, figures) : [],
  }
}

/** A figure that could not be measured is a miss as well. */
export function judge(
  target: Target,
  { share, ofOther, p99Ms, maxMs }: Pick<Row, 'share' | 'ofOther' | 'p99Ms' | 'maxMs'>,
): string[] {
  const { p99Ms: p99Limit = Number.POSITIVE_INFINITY, maxMs: maxLimit = Number.POSITIVE_INFINITY } =
    target
  return [
    ...(target.share === undefined || share >= target.share ? [] : ['share']),
    ...(target.ofOther === undefined || (ofOther ?? Number.NaN) >= target.ofOther.share
      ? []
      : [`of ${target.ofOther.name}`]),
    ...(p99Ms <= p99Limit ? [] : ['p99']),
    ...(maxMs <= maxLimit ? [] : ['max']),
  ]
}

function rateOf(round: Round | undefined): number {
  return round ? rate(round.server) : Number.NaN
}

function rate({ succeeded, seconds }: LoadResult): number {
  return succeeded / seconds
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return (
    ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
  )
}
