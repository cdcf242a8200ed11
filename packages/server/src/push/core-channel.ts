/** The port of the service's own channel, which reaches devices that are connected to it. */
import type { Int64 } from '@hermod/protocol'
import type { PushNotification } from './notification.js'

/** A connected device of a user. */
export interface ConnectedDevice {
  readonly userId: Int64
  readonly deviceSn: number
}

/** A connected device that was sent a ping. Plain data, which outlives the process. */
export interface ProbedDevice extends ConnectedDevice {
  /** The session that was pinged. */
  readonly sessionId: number
  /** When it was, by the clock of the session's node; a value for {@link CoreChannel.answered} only. */
  readonly probedAt: number
}

/** Knows the connected devices of all nodes and hands notifications to them. */
export interface CoreChannel {
  /** Returns the devices of the users that are connected now; users without any are left out. */
  connected(appId: string, userIds: readonly Int64[]): Promise<readonly ConnectedDevice[]>
  /**
   * Pings the devices of the users that are connected now, in order to see with {@link answered}
   * whether they still are. A device whose node does not answer is left out.
   */
  probe(appId: string, userIds: readonly Int64[]): Promise<readonly ProbedDevice[]>
  /**
   * Tests whether anything came from the session since it was pinged. False too when it has closed,
   * when its node does not answer, or was restarted.
   */
  answered(appId: string, probed: ProbedDevice): Promise<boolean>
  /** Lists users with a connected device, by ID, above `after`. */
  listUsers(appId: string, after: Int64, limit: number): Promise<readonly Int64[]>
  /**
   * @param badge number to show; null leaves the badge as it is
   * @returns whether the notification was written to the device; false: it is no longer connected,
   *   or its node does not answer
   */
  deliver(
    appId: string,
    device: ConnectedDevice,
    notification: PushNotification,
    badge: number | null,
  ): Promise<boolean>
}
