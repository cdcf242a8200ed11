/** The measured parties: builds with their users and devices, and bare servers. */
import {
  type Build,
  portOf,
  type Storage,
  type StoredServer,
  type Usage,
  usageOf,
} from '../measure/build.js'
import { quiet } from '../measure/measure.js'
import {
  bareCpuTimes,
  type CpuTimes,
  cpuTimesBetween,
  type ThreadNames,
} from '../measure/thread-cpu.js'
import { makeRealtimeApp, type RealtimeApp } from '../realtime/realtime-population.js'
import { RunningSwarms, startBareGateway } from '../realtime/realtime-processes.js'
import type { Party } from './rows.js'

/** Something whose processor time is measured. */
export interface Measured {
  readonly party: Party
  cpu(): CpuTimes
  /** Waits until it has finished the work of the last run, for a limited time. */
  quiet(): Promise<void>
}

/** Runs work until its effects are over. @returns the processor time of both as well */
export async function withCpu<T>(
  measured: Measured,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly cpu: CpuTimes }> {
  const before = measured.cpu()
  const result = await work()
  await measured.quiet()
  return { result, cpu: cpuTimesBetween(before, measured.cpu()) }
}

/** The users of a build, who are all members of one group. */
interface Filling {
  readonly names: ThreadNames
  readonly users: number
}

/** A build with its running server, its users and the process of their devices. */
export class Side implements Measured, AsyncDisposable {
  readonly swarms = new RunningSwarms()
  /** Sends so far, for the next transaction ID. */
  taken = 0
  readonly #usage: Usage

  private constructor(
    readonly party: 'this' | 'other',
    readonly server: StoredServer,
    readonly app: RealtimeApp,
    private readonly storage: Storage,
    private readonly names: ThreadNames,
  ) {
    this.#usage = usageOf(server, storage)
  }

  /** Starts a server of the build and fills it. */
  static async start(storage: Storage, build: Build, filling: Filling): Promise<Side> {
    const server = await storage.start(build, filling.names.env)
    try {
      const app = await makeRealtimeApp(server, filling.users)
      await server.settle()
      return new Side(build.name, server, app, storage, filling.names)
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
  }

  get address(): { readonly port: number; readonly appId: string } {
    return { port: portOf(this.server), appId: this.server.process.appId }
  }

  cpu(): CpuTimes {
    return this.names.read(this.server.process.pid, this.storage.cpuMs())
  }

  quiet(): Promise<void> {
    return quiet([this.#usage])
  }

  /** Connects one device of each user. */
  async open(): Promise<void> {
    await this.swarms.run('service', 'open', this.address, this.app.logins)
    await this.quiet()
  }

  async close(): Promise<void> {
    await this.swarms.run('service', 'close')
    await this.quiet()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.swarms[Symbol.dispose]()
    await this.server[Symbol.asyncDispose]()
  }
}

/** The sides of all builds; they end together. */
export class Sides implements AsyncDisposable {
  readonly all: Side[] = []

  static async start(storage: Storage, builds: readonly Build[], filling: Filling): Promise<Sides> {
    const sides = new Sides()
    try {
      for (const build of builds) sides.all.push(await Side.start(storage, build, filling))
      return sides
    } catch (error) {
      await sides[Symbol.asyncDispose]()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const side of this.all) await side[Symbol.asyncDispose]()
  }
}

/** A bare server, which has nothing to finish. */
export function bareParty({ pid }: { readonly pid: number }): Measured {
  return { party: 'bare', cpu: () => bareCpuTimes(pid), quiet: async () => {} }
}

/** A bare WebSocket server beside a side, whose process has the devices of both. */
export interface BareParty extends Measured, Disposable {
  readonly of: Side
  readonly port: number
}

/** @param body of each frame */
export async function startBareParty(of: Side, body: string): Promise<BareParty> {
  const gateway = await startBareGateway(body)
  return { ...bareParty(gateway), ...gateway, of }
}
