/**
 * Push tasks against a model and against what the simulated gateways saw, while users change
 * between tasks and nodes are killed amid them: no device is counted twice or left out, whatever is
 * repeated, late or forged (rules G1 to G4). HERMOD_TEST_SEED repeats a run as far as the choices
 * of the test go; the machine decides the rest.
 */
import { PushSimulator, type SimulatedChannel, simulatedChannels } from '@hermod/push-simulator'
import { type Backend, isFullRun, type Json, parallelBackend, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { PushConfirmations } from '../../support/push/push-confirmations.js'
import { PushLedger } from '../../support/push/push-ledger.js'
import { handsets, ModelRound, type Range } from '../../support/push/push-model.js'
import { type DraftedTask, PushModelWorld } from '../../support/push/push-model-world.js'
import { PushNodes } from '../../support/push/push-nodes.js'
import { receiptAddresses } from '../../support/push/push-receipts.js'
import { PushWorld, receiptFields } from '../../support/push/push-world.js'
import { Random } from '../../support/random.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const rounds = isFullRun ? 3 : 1
const usersAtFirst = 24
const patienceMs = 240_000
const stormyLifeSeconds = 4

/** A task that has been answered. */
interface RunningTask extends DraftedTask {
  readonly taskId: number
  /** What was taken is not tried again for certain, so that nobody learns what was not answered. */
  readonly isDoubtful: boolean
}

describe.each(parallelBackend())('push counters on $name', (backend) => {
  it('are what the gateways saw, whatever is killed, repeated and refused', {
    timeout: 300_000,
  }, async () => {
    console.log(`push counters on ${backend.name}: seed ${seed}`)
    const run = await PushRun.start(backend)
    try {
      for (let round = 1; round <= rounds; round++) await run.calmRound()
      if (isFullRun) await run.killedStorm()
      await run.storm()
      console.log(`push counters on ${backend.name}: ${await run.finish()}`)
    } finally {
      await run[Symbol.asyncDispose]()
    }
  })
})

class PushRun implements AsyncDisposable {
  readonly #ledger = new PushLedger()
  readonly #random = new Random(seed)
  /** Of its own, since the machine decides when something is asked of it. */
  readonly #moments = new Random(seed + 1)
  readonly #tasks: RunningTask[] = []
  /** Run at each call of a gateway, before its answer is written. */
  readonly #watchers = new Set<(channel: SimulatedChannel) => void>()
  readonly #totals = { exact: 0, ranges: 0, leasesEnded: 0, cuts: 0 }
  #simulator!: PushSimulator
  #nodes!: PushNodes
  #world!: PushModelWorld
  #confirmations!: PushConfirmations

  static async start(backend: Backend): Promise<PushRun> {
    const run = new PushRun()
    await run.#start(backend)
    return run
  }

  async #start(backend: Backend): Promise<void> {
    this.#simulator = await PushSimulator.start({
      onCall: (call) => {
        this.#ledger.called(call)
        for (const watch of this.#watchers) watch(call.channel)
      },
    })
    this.#nodes = await PushNodes.start({
      backend,
      // Messages name their task only where receipts are wanted.
      env: { HERMOD_PUBLIC_URL: 'http://push.example' },
      random: () => this.#moments.next(),
    })
    const world = new PushWorld(await this.#nodes.running(), this.#simulator)
    await world.setCertificates(simulatedChannels, receiptFields)
    const addresses = await receiptAddresses(world.operator, world.server.appId)
    this.#confirmations = new PushConfirmations({
      nodes: this.#nodes,
      random: new Random(seed + 2),
      addresses,
    })
    this.#world = new PushModelWorld(this.#nodes, this.#random, (channel, token) =>
      this.#ledger.hasTaken(channel, token),
    )
    const lead = await this.#world.addLead()
    await this.#world.addCrowd(lead)
    // Every certificate works, so that dead tokens are believed.
    await this.#play([this.#world.draftTo(lead)])
    await this.#world.addUsers(usersAtFirst)
    // Not before, as a node may take a second to hear that the certificates work.
    if (backend.name === 'postgres') await this.#nodes.add()
  }

  async calmRound(): Promise<void> {
    const random = this.#random
    for (let change = random.integer(6, 16); change > 0; change--) await this.#world.change()
    const cuts = random.integer(0, 1)
    // A command that may have arrived is not sent again, and nobody learns whether it has.
    const drafts = this.#drafts(random.integer(3, 7), { isStormy: false, hasCommands: cuts === 0 })
    const play = () => Promise.all([this.#play(drafts), this.#confirmations.sendLate()])
    await this.#disturbed(play, {
      kills: isFullRun ? random.integer(1, 3) : 1,
      leases: random.integer(0, 2),
      cuts,
    })
  }

  /** A killed node does not hear what a gateway took, and the time may be over when it is asked again. */
  async killedStorm(): Promise<void> {
    await this.#world.bringStorm(15, false)
    const drafts = this.#drafts(5, { isStormy: true, hasCommands: true })
    const play = () => this.#play(drafts, true)
    await this.#disturbed(play, { kills: 3, leases: 1, cuts: 1 })
  }

  /** Who is sent to is for the gateways to say, but every one of their words is heard. */
  async storm(): Promise<void> {
    await this.#world.bringStorm(15, true)
    await this.#play(this.#drafts(8, { isStormy: true, hasCommands: true }))
  }

  /** What was counted stays as it is. @returns the totals of the run */
  async finish(): Promise<string> {
    await this.#confirmations.sendLate()
    this.#ledger.collect(this.#simulator)
    const faults = await this.#compare(this.#tasks)
    expect(faults).toEqual([])
    expect(this.#ledger.changedBadges).toEqual([])
    const { kills } = this.#nodes
    const { exact, ranges, leasesEnded, cuts } = this.#totals
    const { receipts, reports, forged } = this.#confirmations.totals
    const devices = this.#tasks.reduce(
      (sum, { taskId }) => sum + this.#ledger.taken(taskId).length,
      0,
    )
    expect(kills).toBeGreaterThan(0)
    expect(devices).toBeGreaterThan(500)
    return [
      `${this.#tasks.length} tasks, ${devices} devices`,
      `${kills} kills of ${this.#nodes.count} nodes`,
      `${leasesEnded} leases ended, ${cuts} answers lost, ${this.#ledger.repeats} repeats seen`,
      `${receipts} receipts and ${reports} reports, ${forged} forged`,
      `${exact} counts exact, ${ranges} not`,
    ].join('; ')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nodes?.[Symbol.asyncDispose]()
    await this.#simulator?.[Symbol.asyncDispose]()
  }

  /** One of them takes several pages. */
  #drafts(
    count: number,
    kinds: { readonly isStormy: boolean; readonly hasCommands: boolean },
  ): DraftedTask[] {
    return Array.from({ length: count }, (_, index) =>
      this.#world.draft({ ...kinds, isToAll: index === 0 }),
    )
  }

  /** Runs tasks at the same time and looks at what has come of them. */
  async #play(drafts: readonly DraftedTask[], isDoubtful = false): Promise<void> {
    const round = new ModelRound(this.#world.users, drafts)
    const tasks = await Promise.all(
      drafts.map(async (draft) => ({ ...draft, isDoubtful, taskId: await this.#begin(draft) })),
    )
    this.#tasks.push(...tasks)
    await this.#ended()
    this.#ledger.collect(this.#simulator)
    const faults = [
      ...(await this.#compare(tasks, round)),
      ...tasks.flatMap((task) => this.#strays(task, round)),
      ...(await this.#world.adopt(round)),
    ]
    expect(faults, `seed ${seed}`).toEqual([])
    await this.#confirm(tasks)
  }

  /** Devices, and gateways for them, say that they have what they were sent. */
  async #confirm(tasks: readonly RunningTask[]): Promise<void> {
    const devices = new Map(
      this.#world.users
        .flatMap((user) => user.devices)
        .flatMap((device) =>
          [...device.tokens].map(([channel, token]) => [`${channel} ${token}`, device] as const),
        ),
    )
    const pushes = tasks
      .filter(({ isDoubtful }) => !isDoubtful)
      .flatMap(({ taskId }) => this.#ledger.taken(taskId))
    await this.#confirmations.confirm(
      pushes.flatMap((push) => {
        const device = devices.get(`${push.channel} ${push.token}`)
        return device ? [{ push, device }] : []
      }),
    )
    expect(await this.#compare(tasks), `seed ${seed}`).toEqual([])
  }

  /** Asks until there is an answer, and sometimes twice: the request is known by its ID. */
  async #begin(draft: DraftedTask): Promise<number> {
    const ask = () =>
      this.#nodes.call(async ({ api }) => {
        const { data } = await api.admin().succeed('POST', '/push/notify', { body: bodyOf(draft) })
        return Number(data.task_id)
      })
    const taskIds = await Promise.all(this.#random.chance(0.3) ? [ask(), ask()] : [ask()])
    expect(new Set(taskIds).size).toBe(1)
    return taskIds[0] ?? 0
  }

  /** Every device of every task has come to its end. */
  async #ended(): Promise<void> {
    await waitFor(
      async () => {
        const [row] = await this.#nodes.sql.run(
          'select count(*) as running from push_tasks where state <> 2 or finished < devices',
        )
        return Number(row?.running) === 0
      },
      { what: 'the end of all tasks', timeoutMs: patienceMs, everyMs: 20 },
    )
  }

  /** @param round unset: nothing is known of the counts but what the gateways saw */
  async #compare(tasks: readonly RunningTask[], round?: ModelRound): Promise<string[]> {
    const list = tasks.map(({ taskId }) => taskId)
    const { data } = await this.#nodes.call(({ api }) =>
      api.admin().succeed<Json[]>('POST', '/push/task/detail', { body: { list } }),
    )
    expect(data.map(({ task_id }) => Number(task_id))).toEqual(list)
    return tasks.flatMap((task, index) => this.#differences(task, data[index], round))
  }

  #differences(task: RunningTask, counts: Json, round: ModelRound | undefined): string[] {
    const faults: string[] = []
    const check = (name: string, { min, max }: Range) => {
      const count = Number(counts[name])
      if (!(count >= min && count <= max))
        faults.push(
          `task ${task.taskId}: ${name} is ${count}, not ${min} to ${max}: ${JSON.stringify(task.body)}`,
        )
    }
    for (const channel of simulatedChannels) {
      const seen = this.#ledger.count(task.taskId, channel)
      check(`${channel}_sent`, { min: task.isDoubtful ? 0 : seen, max: seen })
      const received = this.#confirmations.count(task.taskId, channel)
      check(`${channel}_received`, { min: received, max: received })
      const expected = round?.counts(task).get(channel)
      if (!expected) continue
      check(`${channel}_target`, expected.target)
      check(`${channel}_sent`, expected.sent)
      for (const { min, max } of Object.values(expected))
        this.#totals[min === max ? 'exact' : 'ranges']++
    }
    // No device is connected to a process that may be killed; see push-core-model.test.ts.
    for (const name of ['target', 'sent', 'received']) check(`core_${name}`, { min: 0, max: 0 })
    return faults
  }

  /** Pushes to devices that the task is not for. */
  #strays(task: RunningTask, round: ModelRound): string[] {
    const allowed = round.tokens(task)
    return this.#ledger
      .taken(task.taskId)
      .filter(({ channel, token }) => !allowed.has(`${channel} ${token}`))
      .map(({ channel, token }) => `task ${task.taskId} went to ${token} of ${channel}`)
  }

  /** Kills nodes, takes their jobs from them and cuts off answers until the work is done. */
  async #disturbed(
    work: () => Promise<unknown>,
    {
      kills,
      leases,
      cuts,
    }: { readonly kills: number; readonly leases: number; readonly cuts: number },
  ): Promise<void> {
    const done = new AbortController()
    const restarts: Promise<void>[] = []
    const disturbances = [
      this.#inTurn(kills, done.signal, async () => {
        const restart = this.#nodes.kill()?.()
        if (restart) restarts.push(restart)
        await restart
      }),
      this.#inTurn(leases, done.signal, () => {
        this.#totals.leasesEnded++
        return this.#nodes.endLeases()
      }),
      this.#inTurn(cuts, done.signal, async () => {
        this.#totals.cuts++
        this.#simulator.gateways[this.#moments.pick(handsets)].cutConnections()
      }),
    ]
    try {
      await work()
    } finally {
      done.abort()
      await Promise.all([...disturbances, ...restarts])
    }
  }

  /** Does something some times, each time at a moment that chance picks. */
  async #inTurn(times: number, done: AbortSignal, act: () => Promise<void>): Promise<void> {
    for (let time = 0; time < times && !done.aborted; time++) {
      let acting: Promise<void> | undefined
      await this.#moment(done, () => {
        acting = act()
      })
      await acting
    }
  }

  /** After some calls of the gateways, with the last one not answered yet, or after a while. */
  #moment(done: AbortSignal, act: () => void): Promise<void> {
    const random = this.#moments
    return new Promise((resolve) => {
      let calls = random.integer(1, 12)
      const end = (isDue: boolean) => {
        clearTimeout(timer)
        this.#watchers.delete(watch)
        done.removeEventListener('abort', stop)
        if (isDue) act()
        resolve()
      }
      const stop = () => end(false)
      const watch = () => {
        if (--calls <= 0) end(true)
      }
      const timer = setTimeout(() => end(true), random.integer(0, 800))
      this.#watchers.add(watch)
      done.addEventListener('abort', stop)
    })
  }
}

/**
 * A stormy task may end before it is sent. Asked for again it ends later, since nobody may ask for
 * what is over.
 */
function bodyOf({ isStormy, body }: DraftedTask): Json {
  if (!isStormy) return body
  const end = Math.floor(Date.now() / 1_000) + stormyLifeSeconds
  return { ...body, message: { ...body.message, show_end_time: end } }
}
