/** Receipts of gateways and reports of apps, and what they must come to (rules G1 and G8). */
import { gatewayModels, type ScriptName, type SimulatedChannel } from '@hermod/push-simulator'
import type { Random } from '../random.js'
import type { TakenPush } from './push-ledger.js'
import { handsets, type ModelDevice } from './push-model.js'
import { isOfCrowd } from './push-model-world.js'
import type { PushNodes } from './push-nodes.js'
import { sendReceipt } from './push-receipts.js'

/** A push that a gateway took, and the device that had the token. */
export interface SentPush {
  readonly push: TakenPush
  readonly device: ModelDevice
}

/** What a receipt says of a device. */
type Word = 'delivered' | 'gone' | 'muted'

export interface PushConfirmationsOptions {
  readonly nodes: PushNodes
  readonly random: Random
  /** Where receipts go, by channel. */
  readonly addresses: Readonly<Record<string, string>>
}

/** Gateways that send receipts; they only write them here. */
const gateways = new Map(
  handsets.map((channel) => [channel as SimulatedChannel, gatewayModels[channel]()]),
)

export class PushConfirmations {
  /** By task, then by `<channel> <token>`. */
  readonly #confirmed = new Map<number, Set<string>>()
  #late: SentPush[] = []
  readonly totals = { receipts: 0, forged: 0, reports: 0 }

  constructor(private readonly options: PushConfirmationsOptions) {}

  /** Devices of a task that have confirmed it. */
  count(taskId: number, channel: SimulatedChannel): number {
    const names = [...(this.#confirmed.get(taskId) ?? [])]
    return names.filter((name) => name.startsWith(`${channel} `)).length
  }

  /**
   * Some confirm at once, some twice and some never; some receipts are kept for {@link sendLate},
   * and some are forged.
   */
  async confirm(pushes: readonly SentPush[]): Promise<void> {
    const { random } = this.options
    const work: Promise<void>[] = []
    for (const sent of pushes) {
      // There are many of them, all alike.
      if (isOfCrowd(sent.device.user) && random.chance(0.85)) continue
      const word = wordOf(sent.push)
      const isLate = word === 'delivered' && random.chance(0.15)
      if (word !== null && isLate) this.#late.push(sent)
      else if (word !== null && random.chance(0.75)) work.push(this.#receive(sent, word))
      if (word !== null && random.chance(0.1)) work.push(this.#forge(sent))
    }
    // Reports take a login each.
    const reporting = pushes.filter(({ device }) => mayReport(device))
    for (let each = Math.min(4, reporting.length); each > 0; each--)
      work.push(this.#report(random.pick(reporting)))
    await Promise.all(work)
  }

  /** Receipts of earlier tasks. */
  async sendLate(): Promise<void> {
    const late = this.#late.splice(0)
    await Promise.all(late.map((sent) => this.#receive(sent, 'delivered')))
  }

  async #receive({ push, device }: SentPush, word: Word): Promise<void> {
    const times = this.options.random.chance(0.3) ? 2 : 1
    this.#follow(push, device, word)
    const statuses = await Promise.all(
      Array.from({ length: times }, () => this.#post(push, this.#pathOf(push.channel))),
    )
    if (statuses.some((status) => status !== 200)) throw new Error(`receipt answered ${statuses}`)
  }

  #follow({ channel, token, taskId }: TakenPush, device: ModelDevice, word: Word): void {
    if (word === 'delivered') this.#note(taskId, channel, token)
    else if (device.tokens.get(channel) === token) {
      if (word === 'gone') device.tokens.delete(channel)
      else device.paused.add(channel)
    }
  }

  #note(taskId: number, channel: SimulatedChannel, token: string): void {
    const names = this.#confirmed.get(taskId) ?? new Set()
    this.#confirmed.set(taskId, names.add(`${channel} ${token}`))
  }

  /** Of a task that is not there, of a device that has none of it, or to an address that is none. */
  async #forge({ push }: SentPush): Promise<void> {
    this.totals.forged++
    const path = this.#pathOf(push.channel)
    const choice = this.options.random.integer(0, 2)
    if (choice === 0) await this.#post({ ...push, tag: '4711.12' }, path)
    else if (choice === 1) await this.#post({ ...push, token: 'nobody' }, path)
    else {
      const status = await this.#post(push, `${path}x`)
      if (status === 200) throw new Error('a forged address takes receipts')
    }
  }

  /** @returns the status of the answer */
  async #post(push: TakenPush, path: string): Promise<number> {
    const [request] =
      gateways.get(push.channel)?.receipts([push], { url: '', now: Date.now() }) ?? []
    if (!request) throw new Error(`no receipts of ${push.channel}`)
    this.totals.receipts++
    const { body, contentType, headers = {} } = request
    const all = { 'content-type': contentType, ...headers }
    const answer = await this.options.nodes.call(({ url }) =>
      sendReceipt({ url: url + path, body, headers: all }),
    )
    return answer.status
  }

  /** The app says itself that it has it, once more where the gateway has said so. */
  async #report({ push, device }: SentPush): Promise<void> {
    this.totals.reports++
    const { user, sn } = device
    const { taskId } = push
    this.#note(taskId, push.channel, push.token)
    await this.options.nodes.call(async ({ api }) => {
      const account = { id: user.id, username: '', password: 'correct horse' }
      const session = await api.login(account, `device ${sn} of ${user.id}`)
      await session.api.succeed('POST', '/push/report', { body: { task_id: taskId } })
    })
  }

  #pathOf(channel: SimulatedChannel): string {
    return new URL(this.options.addresses[channel] ?? '').pathname
  }
}

function mayReport({ user, sn }: ModelDevice): boolean {
  return user.lastSn > 0 && !user.isDisabled && user.devices.some((each) => each.sn === sn)
}

/** null: the gateway sends no receipts */
function wordOf({ channel, script }: TakenPush): Word | null {
  if (!gateways.has(channel)) return null
  const words: Partial<Record<ScriptName, Word>> = { gone: 'gone', muted: 'muted' }
  return channel === 'vendor_f' ? 'delivered' : (words[script] ?? 'delivered')
}
