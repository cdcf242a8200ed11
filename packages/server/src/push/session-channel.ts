import type { Int64 } from '@hermod/protocol'
import type { TransientDelivery } from '../delivery/transient-delivery.js'
import { compare } from '../lib/compare.js'
import { type DeviceSession, hasDevice, type SessionRegistry } from '../sessions/registry.js'
import type { ConnectedDevice, CoreChannel, ProbedDevice } from './core-channel.js'
import type { PushNotification } from './notification.js'

interface SessionChannelOptions {
  readonly sessions: Pick<SessionRegistry, 'isOnline' | 'ofDevice' | 'ofUser' | 'users'>
  readonly transient: Pick<TransientDelivery, 'toSession'>
}

/** The service's own channel: the devices of the sessions of this node. */
export class SessionChannel implements CoreChannel {
  constructor(private readonly options: SessionChannelOptions) {}

  async connected(appId: string, userIds: readonly Int64[]): Promise<readonly ConnectedDevice[]> {
    return this.#sessionsOf(appId, userIds).map(({ userId, deviceSn }) => ({ userId, deviceSn }))
  }

  async probe(appId: string, userIds: readonly Int64[]): Promise<readonly ProbedDevice[]> {
    return this.#sessionsOf(appId, userIds).map(({ userId, deviceSn, id, link }) => {
      // Before the ping, so that no answer comes first.
      const probedAt = performance.now()
      link.ping()
      return { userId, deviceSn, sessionId: id, probedAt }
    })
  }

  /**
   * Session IDs grow over restarts, so the session of another process has another ID, and its times
   * are not compared.
   */
  async answered(
    appId: string,
    { userId, deviceSn, sessionId, probedAt }: ProbedDevice,
  ): Promise<boolean> {
    const session = this.options.sessions.ofDevice(appId, userId, deviceSn)
    return session?.id === sessionId && session.link.heardAt > probedAt
  }

  async listUsers(appId: string, after: Int64, limit: number): Promise<readonly Int64[]> {
    const { sessions } = this.options
    const users = [...sessions.users(appId)].filter(
      (userId) => userId > after && sessions.isOnline(appId, userId),
    )
    return users.sort(compare).slice(0, limit)
  }

  async deliver(
    appId: string,
    { userId, deviceSn }: ConnectedDevice,
    notification: PushNotification,
    badge: number | null,
  ): Promise<boolean> {
    const { sessions, transient } = this.options
    const session = sessions.ofDevice(appId, userId, deviceSn)
    if (!session) return false
    const { taskId, kind, title, body, bigText, attachmentUrl, ext, isSilent, expiresAt } =
      notification
    return transient.toSession(session, {
      kind: 'push.notification',
      data: {
        task_id: Number(taskId),
        kind,
        title,
        body,
        big_text: bigText,
        attachment_url: attachmentUrl,
        ...(badge !== null && { badge }),
        ...(ext !== null && { ext }),
        is_silent: isSilent,
        expires_at: expiresAt,
      },
    })
  }

  #sessionsOf(appId: string, userIds: readonly Int64[]): DeviceSession[] {
    return userIds.flatMap((userId) =>
      this.options.sessions.ofUser(appId, userId).filter(hasDevice),
    )
  }
}
