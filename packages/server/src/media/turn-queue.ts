import { FairQueue } from '../lib/concurrency/fair-queue.js'
import { MediaError, type MediaTurn } from './media.js'

const maxWaiting = 512
/** A user has no more calls in progress by default. */
const maxWaitingOfUser = 32

type StartTurn = () => void

/** Runs one conversion at a time. The others wait, and the apps take turns, and the users of each app. */
export class TurnQueue {
  readonly #turns = new FairQueue<string>()
  readonly #apps = new Map<string, FairQueue<StartTurn>>()
  #isRunning = false

  /** @throws MediaError busy; and the error of the work */
  async run<Result>({ appId, userId }: MediaTurn, work: () => Promise<Result>): Promise<Result> {
    if (this.#isRunning) await this.#wait(appId, String(userId))
    this.#isRunning = true
    try {
      return await work()
    } finally {
      this.#startNext()
    }
  }

  #wait(appId: string, user: string): Promise<void> {
    const users = this.#apps.get(appId) ?? new FairQueue<StartTurn>()
    if (this.#turns.length >= maxWaiting || users.lengthOf(user) >= maxWaitingOfUser)
      throw new MediaError('busy', 'too many files wait to be converted')
    this.#apps.set(appId, users)
    this.#turns.push(appId, appId)
    return new Promise((start) => users.push(user, start))
  }

  #startNext(): void {
    const appId = this.#turns.shift() ?? ''
    const users = this.#apps.get(appId)
    const start = users?.shift()
    if (users?.length === 0) this.#apps.delete(appId)
    if (start) start()
    else this.#isRunning = false
  }
}
