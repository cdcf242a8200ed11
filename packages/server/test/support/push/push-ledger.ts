/** What simulated gateways took, by task and device. */
import type {
  PushSimulator,
  RecordedCall,
  SimulatedChannel,
  SimulatedDelivery,
} from '@hermod/push-simulator'

/** A push that a gateway took; the gateway may have taken it more than once. */
export interface TakenPush extends SimulatedDelivery {
  readonly channel: SimulatedChannel
  readonly taskId: number
}

export class PushLedger {
  /** By task, then by `<channel> <token>`. */
  readonly #tasks = new Map<number, Map<string, TakenPush>>()
  readonly #tokens = new Set<string>()
  /** Badges that ios_gw was told, by task and token. */
  readonly #badges = new Map<string, unknown>()
  /** Badges that changed from one try of a push to the next. */
  readonly changedBadges: string[] = []
  repeats = 0

  /** Notes a request, before its answer is written. */
  called({ channel, path, body, reply }: RecordedCall): void {
    if (channel === 'ios_gw') this.#calledIos(path, body)
    if (typeof reply !== 'object' || reply.status !== 200) return
    if (channel === 'ios_gw') this.#take(channel, tokenOfPath(path), JSON.parse(body))
    else if (channel === 'cloud_gw' && path.endsWith(':send')) {
      const { token, data } = JSON.parse(body).message
      this.#take(channel, token, { hermod: JSON.parse(data.hermod) })
    }
  }

  /** Reads what the gateways have noted themselves since the last time. */
  collect(simulator: PushSimulator): void {
    // ios_gw and cloud_gw know of no tasks.
    for (const { channel, deliveries } of Object.values(simulator.gateways))
      for (const delivery of deliveries.splice(0))
        if (delivery.tag !== '')
          this.#note({ ...delivery, channel, taskId: taskOfTag(delivery.tag) })
  }

  /** Once for each device. */
  taken(taskId: number): TakenPush[] {
    return [...(this.#tasks.get(taskId)?.values() ?? [])]
  }

  count(taskId: number, channel: SimulatedChannel): number {
    return this.taken(taskId).filter((push) => push.channel === channel).length
  }

  hasTaken(channel: SimulatedChannel, token: string): boolean {
    return this.#tokens.has(`${channel} ${token}`)
  }

  #calledIos(path: string, body: string): void {
    const { aps, hermod } = JSON.parse(body)
    const name = `${hermod.task_id} ${tokenOfPath(path)}`
    const before = this.#badges.get(name)
    if (this.#badges.has(name) && before !== aps.badge)
      this.changedBadges.push(`${name}: ${before}, ${aps.badge}`)
    this.#badges.set(name, aps.badge)
  }

  #take(
    channel: SimulatedChannel,
    token: string,
    { hermod }: { readonly hermod: { readonly task_id: string } },
  ): void {
    const taskId = Number(hermod.task_id)
    this.#note({ channel, token, taskId, tag: '', messageId: '', receiptUrl: '', script: 'accept' })
  }

  #note(push: TakenPush): void {
    const name = `${push.channel} ${push.token}`
    const ofTask = this.#tasks.get(push.taskId) ?? new Map<string, TakenPush>()
    this.#tasks.set(push.taskId, ofTask)
    if (ofTask.has(name)) this.repeats++
    ofTask.set(name, push)
    this.#tokens.add(name)
  }
}

/** What is told to gateways begins with the task. */
function taskOfTag(tag: string): number {
  return Number(tag.split('.')[0])
}

function tokenOfPath(path: string): string {
  return path.split('/').at(-1) ?? ''
}
