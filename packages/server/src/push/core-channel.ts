/** The port of the service's own channel, which reaches devices that are connected to it. */
import type { Int64 } from '@hermod/protocol'
import type { PushNotification } from './sender.js'

/** A connected device of a user. */
export interface ConnectedDevice {
  readonly userId: Int64
  readonly deviceSn: number
}

/** Knows the connected devices of all nodes and hands notifications to them. */
export interface CoreChannel {
  /** Returns the devices of the users that are connected now; users without any are left out. */
  connected(appId: string, userIds: readonly Int64[]): Promise<readonly ConnectedDevice[]>
  /** Lists users with a connected device, by ID, above `after`. */
  listUsers(appId: string, after: Int64, limit: number): Promise<readonly Int64[]>
  /**
   * @param badge number to show; null leaves the badge as it is
   * @returns whether the device received the notification; false: it is no longer connected
   */
  deliver(
    appId: string,
    device: ConnectedDevice,
    notification: PushNotification,
    badge: number | null,
  ): Promise<boolean>
}

/** A channel without any connected device. */
export const noConnections: CoreChannel = {
  connected: async () => [],
  listUsers: async () => [],
  deliver: async () => false,
}
