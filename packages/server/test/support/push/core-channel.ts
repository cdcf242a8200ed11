/** A service in this process whose connected devices and clock the test decides. */
import { Api, type Backend, type Session, TempFolder } from '@hermod/testkit'
import { loadConfig } from '../../../dist/config/config.js'
import { type RunningServer, startService } from '../../../dist/context/server/server.js'
import type { Clock } from '../../../dist/lib/clock.js'
import { createLog } from '../../../dist/observability/log.js'
import type { ConnectedDevice, CoreChannel } from '../../../dist/push/core-channel.js'
import type { PushNotification } from '../../../dist/push/sender.js'

/** What a connected device was handed. */
export interface HandedPush {
  readonly device: ConnectedDevice
  readonly notification: PushNotification
  readonly badge: number | null
}

/** Devices that are connected, by the word of the test. */
export class TestCoreChannel implements CoreChannel {
  readonly handed: HandedPush[] = []
  readonly #devices = new Map<string, ConnectedDevice>()
  readonly #leaving = new Set<string>()
  #failures = 0
  #losses = 0

  connect({ id: userId }: Pick<Session, 'id'>, deviceSn = 1): void {
    this.#devices.set(`${userId} ${deviceSn}`, { userId, deviceSn })
  }

  /** It is connected when it is looked for, and not any more when it is told something. */
  connectUntilTold(session: Pick<Session, 'id'>, deviceSn = 1): void {
    this.connect(session, deviceSn)
    this.#leaving.add(`${session.id} ${deviceSn}`)
  }

  disconnectAll(): void {
    this.#devices.clear()
    this.#leaving.clear()
  }

  failNext(count: number): void {
    this.#failures = count
  }

  /** Devices are handed the next ones, and the service is not told. */
  loseNext(count: number): void {
    this.#losses = count
  }

  /** What a device was handed of a task. */
  handedTo({ id }: Pick<Session, 'id'>, taskId: number, deviceSn = 1): HandedPush[] {
    return this.handed.filter(
      ({ device, notification }) =>
        device.userId === id &&
        device.deviceSn === deviceSn &&
        notification.taskId === String(taskId),
    )
  }

  connected: CoreChannel['connected'] = async (_, userIds) =>
    [...this.#devices.values()].filter(({ userId }) => userIds.includes(userId))

  listUsers: CoreChannel['listUsers'] = async (_, after, limit) => {
    const users = new Set([...this.#devices.values()].map(({ userId }) => Number(userId)))
    return [...users]
      .filter((userId) => userId > after)
      .sort((a, b) => a - b)
      .slice(0, limit)
  }

  deliver: CoreChannel['deliver'] = async (_, { userId, deviceSn }, notification, badge) => {
    if (this.#failures > 0) {
      this.#failures--
      throw new Error('the channel fails')
    }
    const name = `${userId} ${deviceSn}`
    if (this.#leaving.delete(name)) this.#devices.delete(name)
    if (!this.#devices.has(name)) return false
    this.handed.push({ device: { userId, deviceSn }, notification, badge })
    if (this.#losses > 0) {
      this.#losses--
      throw new Error('the answer is lost')
    }
    return true
  }
}

/** Goes as fast as that of the machine, from where the test sets it. */
export class TestClock implements Clock {
  #ahead = 0

  /** @param time milliseconds since 1970; must not be earlier than before */
  set(time: number): void {
    this.#ahead = time - Date.now()
  }

  now = (): number => Date.now() + this.#ahead
}

/** Runs in this process and can be called as one that does not. */
export class CoreService implements AsyncDisposable {
  readonly core = new TestCoreChannel()
  readonly clock = new TestClock()
  readonly appId = 'test'
  readonly operatorToken = `hmo_${'b'.repeat(48)}`
  readonly #adminToken = `hma_${'a'.repeat(48)}`
  readonly #folder = new TempFolder('core')
  #database: AsyncDisposable | undefined
  #running: RunningServer | undefined
  #api: Api | undefined

  static async start(backend: Backend): Promise<CoreService> {
    const service = new CoreService()
    try {
      await service.#start(backend)
    } catch (error) {
      await service[Symbol.asyncDispose]()
      throw error
    }
    return service
  }

  get api(): Api {
    if (!this.#api) throw new Error('it does not run')
    return this.#api
  }

  async #start(backend: Backend): Promise<void> {
    const database = await backend.createDatabase()
    this.#database = database
    const loaded = loadConfig({
      HERMOD_HOST: '127.0.0.1',
      HERMOD_PORT: '0',
      HERMOD_DATA_DIR: this.#folder.path,
      ...(database.url !== undefined && { HERMOD_DATABASE_URL: database.url }),
      HERMOD_RATE_LIMIT: 'off',
      HERMOD_CHECK_ANSWERS: 'on',
      HERMOD_BOOTSTRAP_APP_ID: this.appId,
      HERMOD_BOOTSTRAP_ADMIN_TOKEN: this.#adminToken,
      HERMOD_OPERATOR_TOKEN: this.operatorToken,
    })
    this.#running = await startService(loaded, createLog('silent'), {
      core: this.core,
      clock: this.clock,
    })
    const { url } = this.#running
    this.#api = new Api({ url, appId: this.appId, adminToken: this.#adminToken })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#api?.close()
    await this.#running?.stop()
    await this.#database?.[Symbol.asyncDispose]()
    this.#folder[Symbol.dispose]()
  }
}
