/**
 * Push tasks to connected devices against what the test double of the own channel and a simulated
 * gateway saw, on both databases (rules G1 and G2). The channel fails, hands over without saying
 * so, and loses devices; apps report late, twice or never. HERMOD_TEST_SEED repeats the choices of
 * a run. Kills are for push-model.test.ts: the double lives in the process of the service.
 */
import { PushSimulator } from '@hermod/push-simulator'
import { anyBackend, isFullRun, type Session } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { InProcessServer } from '../../support/in-process-server.js'
import { PushLedger } from '../../support/push/push-ledger.js'
import { withoutPauses } from '../../support/push/push-pauses.js'
import { PushWorld } from '../../support/push/push-world.js'
import { Random } from '../../support/random.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_102)
const rounds = isFullRun ? 6 : 4
const userCount = 16
const strategies = ['combined', 'corepush_only', 'ospush_only', undefined] as const
const message = { title: 'News', body: 'There is something new.' }

/** A user with one device. */
interface Somebody {
  readonly session: Session
  /** null: bound to no gateway */
  readonly token: string | null
  /** `leaves`: it is connected when the task looks for it, and not any more when it is told. */
  connection: 'none' | 'stays' | 'leaves'
}

/** What a task must have counted in the end; counts of 0 are left out. */
interface PlayedTask {
  readonly taskId: number
  readonly counts: Record<string, number>
}

describe.each(anyBackend())('counters of the own channel on $name', (backend) => {
  it('are what it handed over and what apps reported, whatever fails, leaves and is repeated', {
    timeout: 300_000,
  }, async () => {
    const ledger = new PushLedger()
    await using simulator = await PushSimulator.start({ onCall: (call) => ledger.called(call) })
    await using service = await InProcessServer.start(backend)
    const run = new CoreRun(service, { simulator, ledger })
    await run.begin()
    for (let round = 1; round <= rounds; round++) await run.round()
    console.log(`counters of the own channel on ${backend.name}: ${await run.finish()}`)
  })
})

class CoreRun {
  readonly #random = new Random(seed)
  readonly #world: PushWorld
  readonly #ledger: PushLedger
  readonly #people: Somebody[] = []
  readonly #tasks: PlayedTask[] = []
  readonly #totals = { handed: 0, late: 0, doubled: 0, lost: 0 }
  #late: (() => Promise<void>)[] = []

  constructor(
    private readonly service: InProcessServer,
    gateway: { readonly simulator: PushSimulator; readonly ledger: PushLedger },
  ) {
    this.#world = new PushWorld(service, gateway.simulator)
    this.#ledger = gateway.ledger
  }

  async begin(): Promise<void> {
    await this.#world.setCertificates(['cloud_gw'])
    for (let index = 0; index < userCount; index++) {
      const token = index % 3 === 0 ? null : `device-${index}`
      const session = await this.#world.user(token === null ? {} : { cloud_gw: token })
      this.#people.push({ session, token, connection: 'none' })
    }
  }

  /** Some tasks one after the other, since a device leaves at the first one that tells it something. */
  async round(): Promise<void> {
    await this.#sendLate()
    for (let each = this.#random.integer(1, 3); each > 0; each--) {
      this.#connect()
      await this.#play()
    }
  }

  /** What was counted stays as it is. @returns the totals of the run */
  async finish(): Promise<string> {
    await this.#sendLate()
    for (const { taskId, counts } of this.#tasks) await this.#world.reaches(taskId, counts)
    for (const total of Object.values(this.#totals)) expect(total).toBeGreaterThan(0)
    return `seed ${seed}, ${this.#tasks.length} tasks, ${JSON.stringify(this.#totals)}`
  }

  #connect(): void {
    const { core } = this.service
    core.disconnectAll()
    for (const somebody of this.#people) {
      const { session } = somebody
      somebody.connection = this.#random.pick(['none', 'stays', 'stays', 'leaves'] as const)
      if (somebody.connection === 'stays') core.connect(session)
      if (somebody.connection === 'leaves') core.connectUntilTold(session)
    }
  }

  async #play(): Promise<void> {
    const { core } = this.service
    const random = this.#random
    const isToAll = random.chance(0.3)
    const meant = this.#people.filter(() => isToAll || random.chance(0.6))
    const strategy = random.pick(strategies)
    const ids = [4, ...meant.map(({ session }) => session.id)]
    core.failNext(random.integer(0, 2))
    core.loseNext(random.integer(0, 2))
    const taskId = await this.#world.notify({
      audience: isToAll ? 'all' : { user_id: ids },
      setting: { distribution_strategy: strategy },
      message,
    })
    const counts = expectedCounts(meant, strategy ?? 'combined')
    await withoutPauses(this.service, () => this.#world.reaches(taskId, counts))
    core.failNext(0)
    core.loseNext(0)
    this.#compare(taskId, counts)
    await this.#confirm(taskId, counts)
    this.#tasks.push({ taskId, counts })
  }

  /** The channel and the gateway have seen what was counted as sent. */
  #compare(taskId: number, { core_sent = 0, cloud_gw_sent = 0 }: PlayedTask['counts']): void {
    const seen = this.#people.filter(
      ({ session }) => this.service.core.handedTo(session, taskId).length > 0,
    )
    expect(seen, `task ${taskId}, seed ${seed}`).toHaveLength(core_sent)
    expect(this.#ledger.count(taskId, 'cloud_gw'), `task ${taskId}, seed ${seed}`).toBe(
      cloud_gw_sent,
    )
    this.#totals.handed += core_sent
  }

  /** Apps report at once, some of them twice, some later and some never. */
  async #confirm(taskId: number, counts: PlayedTask['counts']): Promise<void> {
    const random = this.#random
    const reports: Promise<void>[] = []
    for (const { session } of this.#people) {
      if (this.service.core.handedTo(session, taskId).length === 0) continue
      const report = async () => {
        await session.api.succeed('POST', '/push/report', { body: { task_id: taskId } })
      }
      const counted = async (times: number) => {
        counts.core_received = (counts.core_received ?? 0) + 1
        await Promise.all(Array.from({ length: times }, report))
      }
      const choice = random.pick(['once', 'twice', 'late', 'never'] as const)
      if (choice === 'once') reports.push(counted(1))
      else if (choice === 'twice') {
        this.#totals.doubled++
        reports.push(counted(3))
      } else if (choice === 'late') {
        this.#totals.late++
        this.#late.push(() => counted(2))
      } else this.#totals.lost++
    }
    await Promise.all(reports)
    await this.#world.reaches(taskId, counts)
  }

  async #sendLate(): Promise<void> {
    await Promise.all(this.#late.splice(0).map((report) => report()))
  }
}

/**
 * By rule G2: the own channel where the device is connected, else, and when it has left meanwhile,
 * the gateway.
 */
function expectedCounts(
  meant: readonly Somebody[],
  strategy: 'combined' | 'corepush_only' | 'ospush_only',
): Record<string, number> {
  const connected = meant.filter(
    ({ connection }) => strategy !== 'ospush_only' && connection !== 'none',
  )
  const handed = connected.filter(({ connection }) => connection === 'stays')
  const told = meant.filter(
    (each) => strategy !== 'corepush_only' && each.token !== null && !handed.includes(each),
  )
  const counts = {
    core_target: connected.length,
    core_sent: handed.length,
    cloud_gw_target: told.length,
    cloud_gw_sent: told.length,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}
