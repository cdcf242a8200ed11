/** What became of the pushes of messages, as the gateway saw it and as it is stored. */
import { pushTaskState } from '@hermod/protocol'
import { type Session, waitFor } from '@hermod/testkit'
import type { Sql } from '../database/sql.js'
import { PushWorld } from './push-world.js'

/** A user with a device that is bound to ios_gw, whose requests are the easiest to read. */
export interface Receiver extends Session {
  readonly deviceToken: string
}

/** What a device was shown. */
export interface ShownPush {
  readonly title: string | undefined
  readonly subtitle: string | undefined
  readonly body: string
  readonly badge: number | undefined
  readonly isSilent: boolean
  readonly collapseId: string | undefined
  /** What the app gets. */
  readonly members: Readonly<Record<string, unknown>>
}

interface DeliveryRow {
  readonly state: number
  readonly steps: string
}

const patience = { timeoutMs: 60_000 }
let tokens = 0

/** The messages of one application and their pushes. */
export class MessagePushes extends PushWorld {
  constructor(
    server: PushWorld['server'],
    simulator: PushWorld['simulator'],
    readonly sql: Sql,
  ) {
    super(server, simulator)
  }

  /** @param prefix what the gateway does to the device; see the scripts of the simulator */
  async receiver(prefix = ''): Promise<Receiver> {
    const deviceToken = prefix + (++tokens).toString(16).padStart(64 - prefix.length, '0')
    return { ...(await this.user({ ios_gw: deviceToken })), deviceToken }
  }

  /** What the device was shown, in order. */
  shownTo({ deviceToken }: Pick<Receiver, 'deviceToken'>): ShownPush[] {
    const calls = this.simulator.gateways.ios_gw.calls.filter(({ path }) =>
      path.endsWith(`/${deviceToken}`),
    )
    return calls.map(({ body, headers }) => {
      const { aps, ...members } = JSON.parse(body)
      return {
        title: aps.alert.title,
        subtitle: aps.alert.subtitle,
        body: aps.alert.body,
        badge: aps.badge,
        isSilent: aps.sound === undefined,
        collapseId: headers['apns-collapse-id'],
        members,
      }
    })
  }

  /** Waits until the consumer has handled everything that was answered. */
  async handled(): Promise<void> {
    const { appId } = this.server
    await waitFor(
      async () => {
        const [behind] = await this.sql.run(`select h.position from outbox_heads h
          where h.app_id = '${appId}' and h.position > coalesce((select p.position
            from outbox_positions p where p.consumer = 'push' and p.app_id = h.app_id), 0)`)
        return behind === undefined
      },
      { what: 'the consumer of pushes is at the end', ...patience },
    )
  }

  /** Waits until everybody whom the message is for, if it has a task, has the deliveries. */
  async expanded(messageId: number): Promise<void> {
    await this.handled()
    await waitFor(
      async () => {
        const tasks = await this.sql.run(`select state from push_tasks where msg_id = ${messageId}`)
        return tasks.every(({ state }) => Number(state) >= pushTaskState.expanded)
      },
      { what: `the deliveries of message ${messageId}`, ...patience },
    )
  }

  /**
   * What became of a message on the devices of a user: `nothing` when none was in the audience,
   * `sent`, or why it was not.
   */
  async outcome(messageId: number, userId: number): Promise<string> {
    await this.expanded(messageId)
    const rows = await waitFor(
      async () => {
        const found = await this.deliveries(messageId, userId)
        return found.every(({ state }) => state !== 0) && found
      },
      { what: `message ${messageId} of user ${userId} has come to an end`, ...patience },
    )
    return rows.map(outcomeOf).join(' ') || 'nothing'
  }

  /** As {@link outcome}, one after the other. */
  async outcomes(messageId: number, users: readonly Pick<Session, 'id'>[]): Promise<string[]> {
    const all: string[] = []
    for (const { id } of users) all.push(await this.outcome(messageId, id))
    return all
  }

  async deliveries(messageId: number, userId: number): Promise<DeliveryRow[]> {
    const rows = await this.sql.run(`select d.state, d.steps from push_tasks t
      join push_deliveries d on d.app_id = t.app_id and d.task_id = t.task_id
      where t.msg_id = ${messageId} and d.user_id = ${userId} order by d.device_sn`)
    return rows.map(({ state, steps }) => ({ state: Number(state), steps: String(steps) }))
  }

  async hasTask(messageId: number): Promise<boolean> {
    return (
      (await this.sql.run(`select 1 as one from push_tasks where msg_id = ${messageId}`)).length > 0
    )
  }
}

function outcomeOf({ state, steps }: DeliveryRow): string {
  if (state === 1) return 'sent'
  const last = JSON.parse(steps.trimEnd().split('\n').at(-1) ?? '{}')
  return last.step === 'suppressed' ? last.result : last.step
}
