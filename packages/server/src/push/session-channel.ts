import type { Int64 } from '@hermod/protocol'
import { compare } from '../lib/compare.js'
import { stringifyJson } from '../lib/json.js'
import type { NodeAnswer, NodeQuestion } from '../nodes/questions.js'
import type { ConnectedDevice as KnownDevice, SessionDirectory } from '../sessions/directory.js'
import type { ConnectedDevice, CoreChannel, ProbedDevice } from './core-channel.js'
import type { PushNotification } from './notification.js'
import type { PushEvent, SessionAnswers, SessionQuestion } from './session-questions.js'

interface SessionChannelOptions {
  readonly directory: Pick<SessionDirectory, 'devicesOf' | 'onlineUsers'>
  /** For the sessions of this node. */
  readonly answers: Pick<SessionAnswers, 'deliver' | 'heard' | 'ping'>
  /** Asks another node. @returns null when no answer comes */
  ask(nodeId: string, question: NodeQuestion): Promise<NodeAnswer>
}

/** The service's own channel: the devices of the sessions of all nodes. */
export class SessionChannel implements CoreChannel {
  constructor(private readonly options: SessionChannelOptions) {}

  async connected(appId: string, userIds: readonly Int64[]): Promise<readonly ConnectedDevice[]> {
    return this.#devicesOf(appId, userIds).map(({ userId, deviceSn }) => ({ userId, deviceSn }))
  }

  /** A device whose node does not answer is left out: it may as well be gone. */
  async probe(appId: string, userIds: readonly Int64[]): Promise<readonly ProbedDevice[]> {
    const probed = await Promise.all(
      this.#devicesOf(appId, userIds).map(async (device) => {
        const { userId, deviceSn, id: sessionId, nodeId } = device
        const session = { appId, userId, id: sessionId }
        const probedAt =
          nodeId === undefined
            ? this.options.answers.ping(session)
            : await this.#ask(nodeId, { ...session, ask: 'ping' })
        return typeof probedAt === 'number' ? [{ userId, deviceSn, sessionId, probedAt }] : []
      }),
    )
    return probed.flat()
  }

  async answered(
    appId: string,
    { userId, deviceSn, sessionId, probedAt }: ProbedDevice,
  ): Promise<boolean> {
    const device = this.#find(appId, { userId, deviceSn })
    if (device?.id !== sessionId) return false
    const { nodeId } = device
    const session = { appId, userId, id: sessionId }
    return nodeId === undefined
      ? this.options.answers.heard(session, probedAt)
      : (await this.#ask(nodeId, { ...session, ask: 'heard', since: probedAt })) === true
  }

  async listUsers(appId: string, after: Int64, limit: number): Promise<readonly Int64[]> {
    const users = [...this.options.directory.onlineUsers(appId)]
    return users
      .filter((userId) => userId > after)
      .sort(compare)
      .slice(0, limit)
  }

  async deliver(
    appId: string,
    { userId, deviceSn }: ConnectedDevice,
    notification: PushNotification,
    badge: number | null,
  ): Promise<boolean> {
    const device = this.#find(appId, { userId, deviceSn })
    if (!device) return false
    const session = { appId, userId, id: device.id }
    const event = eventOf(notification)
    if (device.nodeId === undefined) return this.options.answers.deliver(session, event, badge)
    const question = { ...session, ask: 'deliver', badge } as const
    return (await this.#ask(device.nodeId, question, stringifyJson(event))) === true
  }

  #ask(nodeId: string, about: SessionQuestion, text?: string): Promise<NodeAnswer> {
    return this.options.ask(nodeId, { about, ...(text !== undefined && { text }) })
  }

  #devicesOf(appId: string, userIds: readonly Int64[]): KnownDevice[] {
    return userIds.flatMap((userId) => this.options.directory.devicesOf(appId, userId))
  }

  #find(appId: string, { userId, deviceSn }: ConnectedDevice): KnownDevice | undefined {
    const devices = this.options.directory.devicesOf(appId, userId)
    return devices.find((device) => device.deviceSn === deviceSn)
  }
}

/** Without the badge, which differs from device to device. */
function eventOf({
  taskId,
  kind,
  title,
  body,
  bigText,
  attachmentUrl,
  ext,
  isSilent,
  expiresAt,
}: PushNotification): PushEvent {
  return {
    kind: 'push.notification',
    data: {
      task_id: Number(taskId),
      kind,
      title,
      body,
      big_text: bigText,
      attachment_url: attachmentUrl,
      ...(ext !== null && { ext }),
      is_silent: isSilent,
      expires_at: expiresAt,
    },
  }
}
