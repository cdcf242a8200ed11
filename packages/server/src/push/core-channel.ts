/** The port of the service's own channel: devices that are connected to it. */
import type { Int64 } from '@hermod/protocol'
import type { PushNotification } from './sender.js'

/** A device of a user. */
export interface ConnectedDevice {
  readonly userId: Int64
  readonly deviceSn: number
}

/** Knows which devices are connected, on all nodes, and hands them notifications. */
export interface CoreChannel {
  /** Those devices of the users that are connected now; users without any are left out. */
  connected(appId: string, userIds: readonly Int64[]): Promise<readonly ConnectedDevice[]>
  /** Users with a connected device, by ID, above `after`. */
  listUsers(appId: string, after: Int64, limit: number): Promise<readonly Int64[]>
  /**
   * @param badge what the badge is to show; null: it stays as it is
   * @returns whether the notification was handed to the device; false: it is not connected any more
   */
  deliver(
    appId: string,
    device: ConnectedDevice,
    notification: PushNotification,
    badge: number | null,
  ): Promise<boolean>
}

/** No device is connected. */
export const noConnections: CoreChannel = {
  connected: async () => [],
  listUsers: async () => [],
  deliver: async () => false,
}
