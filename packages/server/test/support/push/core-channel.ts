/** The channel to connected devices, which the test connects. */
import type { Session } from '@hermod/testkit'
import type { ConnectedDevice, CoreChannel } from '../../../dist/push/core-channel.js'
import type { PushNotification } from '../../../dist/push/notification.js'

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
  /** Devices that answer pings. */
  readonly #answering = new Set<string>()
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
    this.#answering.clear()
  }

  /** From now on the device answers pings; those before it too. */
  answer({ id }: Pick<Session, 'id'>, deviceSn = 1): void {
    this.#answering.add(`${id} ${deviceSn}`)
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

  probe: CoreChannel['probe'] = async (appId, userIds) => {
    return (await this.connected(appId, userIds)).map((each) => ({
      ...each,
      sessionId: 1,
      probedAt: 0,
    }))
  }

  answered: CoreChannel['answered'] = async (_, { userId, deviceSn }) => {
    const name = `${userId} ${deviceSn}`
    return this.#devices.has(name) && this.#answering.has(name)
  }

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
