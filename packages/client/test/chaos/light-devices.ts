import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayClient } from '@hermod/testkit'

/** A token of a user, and the device that uses it. */
export interface DeviceLogin {
  readonly token: string
  readonly deviceGuid: string
}

interface LightDevicesOptions {
  /** The address of the balancer. */
  readonly url: string
  readonly appId: string
  readonly logins: readonly DeviceLogin[]
}

const opensAtOnce = 20
/** A pause without a hint of the service, as clients take one. */
const pauseMs = 1_000

/** Devices that only stay connected, and come back when the service tells them to. */
export class LightDevices implements AsyncDisposable {
  /** The times at which devices came back, as performance.now(). */
  readonly returns: number[] = []
  /** How often connections ended, by code and reason. */
  readonly endings = new Map<string, number>()
  readonly #clients = new Set<GatewayClient>()
  readonly #running: Promise<void>[] = []
  #isOver = false
  #opened = 0

  private constructor(private readonly options: LightDevicesOptions) {}

  static async start(options: LightDevicesOptions): Promise<LightDevices> {
    const devices = new LightDevices(options)
    for (let begin = 0; begin < options.logins.length; begin += opensAtOnce)
      await Promise.all(
        options.logins.slice(begin, begin + opensAtOnce).map(async (login) => {
          const client = await devices.#open(login)
          devices.#running.push(devices.#stay(login, client))
        }),
      )
    return devices
  }

  get connected(): number {
    return this.#opened
  }

  /** The devices that came back in each second with some, the fewest first. */
  get returnsBySecond(): readonly number[] {
    const seconds = new Map<number, number>()
    for (const time of this.returns) {
      const second = Math.floor(time / 1_000)
      seconds.set(second, (seconds.get(second) ?? 0) + 1)
    }
    return [...seconds.values()].sort((a, b) => a - b)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    for (const client of this.#clients) client[Symbol.dispose]()
    await Promise.all(this.#running)
  }

  /** Stays connected until the end. */
  async #stay(login: DeviceLogin, first: GatewayClient): Promise<void> {
    let client: GatewayClient | null = first
    while (!this.#isOver) {
      let afterMs = pauseMs
      if (client !== null) {
        const { code, reason } = await client.closed({ timeoutMs: 3_600_000, everyMs: 100 })
        const ending = `${code} ${reason}`
        this.endings.set(ending, (this.endings.get(ending) ?? 0) + 1)
        this.#opened--
        this.#clients.delete(client)
        if (this.#isOver) return
        const closing = client.events.findLast(({ event }) => event === 'session.closing')
        afterMs = (closing?.data.retry_after_ms as number | undefined) ?? pauseMs
      }
      await sleep(afterMs)
      client = await this.#open(login).catch(() => null)
      if (client !== null) this.returns.push(performance.now())
    }
  }

  async #open({ token, deviceGuid }: DeviceLogin): Promise<GatewayClient> {
    const { url, appId } = this.options
    const client = await GatewayClient.connect(url)
    try {
      const { code } = await client.open({ appId, accessToken: token, deviceGuid })
      if (code !== 200) throw new Error(`session.open answered ${code}`)
    } catch (error) {
      client[Symbol.dispose]()
      throw error
    }
    this.#clients.add(client)
    this.#opened++
    return client
  }
}
