import { AppError } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../db/database.js'
import { raiseIdSlots } from '../../db/id-reservations.js'
import { type Clock, minuteMs } from '../../lib/clock.js'
import { groupBy } from '../../lib/group-by.js'
import { timestampOf } from '../../lib/ids/ids.js'
import { type DeviceChange, finishedOf } from '../push/tasks/task-statements.js'
import type { TaskKey } from '../push/tasks/task-model.js'
import type { ServiceStateService } from '../service-state/service-state-service.js'
import type { RepeatedErasures } from './erasure-repeats.js'
import type { RestoreStore, UnsentEvents } from './restore-store.js'

interface RestoreServiceOptions {
  readonly database: Database
  readonly store: RestoreStore
  readonly apps: {
    list(db: Queryable): Promise<readonly { readonly appId: string }[]>
    countValidAdminTokens(db: Queryable, now: number): Promise<number>
  }
  readonly tokens: {
    countValid(db: Queryable, now: number): Promise<number>
    /** @returns the number of tokens that were ended */
    revokeSome(tx: Tx, appId: string, revokedAt: number, limit: number): Promise<number>
  }
  readonly tasks: {
    addDevices(tx: Tx, changes: readonly DeviceChange[]): Promise<void>
    cancelStale(
      tx: Tx,
      which: { readonly messagesBefore: number; readonly at: number },
    ): Promise<{ readonly messages: number; readonly core: number }>
    countUnfinished(db: Queryable): Promise<RestoreStatus['unfinishedPushes']>
  }
  readonly deliveries: {
    /** @returns the tasks of the ended deliveries */
    cancelCore(tx: Tx): Promise<readonly TaskKey[]>
  }
  /** Jobs of which each backup has at least the one that made it. */
  readonly backupJobs: { cancelAll(tx: Tx, now: number): Promise<void> }
  readonly outbox: { passRowsBefore(tx: Tx, consumer: string, time: number): Promise<void> }
  readonly state: Pick<ServiceStateService, 'finishRestored' | 'get'>
  /** Erases the users again who were erased after the backup. */
  readonly repeatErasures: () => Promise<RepeatedErasures>
  readonly clock: Clock
}

/** Restored data, for its operator. */
export interface RestoreStatus {
  readonly isRestored: boolean
  readonly newestMessageId: number
  /** Milliseconds since 1970; 0: there is no message. */
  readonly newestMessageAt: number
  readonly unsentEvents: readonly UnsentEvents[]
  readonly unfinishedPushes: { readonly count: number; readonly oldestAt: number }
  readonly validUserTokens: number
  readonly validAdminTokens: number
}

/** The effects of the end of a restore, and what it leaves. */
export interface FinishedRestore extends RestoreStatus {
  readonly endedMessagePushes: number
  readonly endedCorePushes: number
  readonly endedUserTokens: number
  readonly erasures: RepeatedErasures
}

/** The age from which a message is not pushed after a restore. */
const pushedMs = 5 * minuteMs
/** The consumer that makes pushes of messages. */
const pushConsumer = 'push'
const tokensPerTransaction = 1_000

/** Shows restored data, and begins the service on it. */
export class RestoreService {
  constructor(private readonly options: RestoreServiceOptions) {}

  async status(): Promise<RestoreStatus> {
    const { database, store, apps, tokens, tasks, state, clock } = this.options
    const now = clock.now()
    const { state: present } = await state.get()
    return database.read(async (db) => {
      const newestMessageId = await store.newestMessageId(db)
      return {
        isRestored: present === 'restored',
        newestMessageId,
        newestMessageAt: timestampOf(newestMessageId),
        unsentEvents: await store.listUnsentEvents(db),
        unfinishedPushes: await tasks.countUnfinished(db),
        validUserTokens: await tokens.countValid(db, now),
        validAdminTokens: await apps.countValidAdminTokens(db, now),
      }
    })
  }

  /**
   * Ends what must not be sent any more, and begins the service. After a kill it is run again.
   *
   * @throws AppError not_restored
   */
  async finish({ endsLogins }: { readonly endsLogins: boolean }): Promise<FinishedRestore> {
    const { database, state, backupJobs, repeatErasures, clock } = this.options
    if ((await state.get()).state !== 'restored') throw new AppError('not_restored')
    const ended = await database.transaction(async (tx) => {
      await backupJobs.cancelAll(tx, clock.now())
      return this.#endPushes(tx)
    })
    const endedUserTokens = endsLogins ? await this.#endLogins() : 0
    const erasures = await repeatErasures()
    const status = await this.status()
    await database.transaction(async (tx) => {
      // A service on the lost data may have run until now.
      await raiseIdSlots(tx, clock.now())
      if (!(await state.finishRestored(tx))) throw new AppError('not_restored')
    })
    return { ...status, ...ended, endedUserTokens, erasures }
  }

  /** Ends pushes of old messages, also those not made yet, and pushes to connected devices. */
  async #endPushes(
    tx: Tx,
  ): Promise<Pick<FinishedRestore, 'endedMessagePushes' | 'endedCorePushes'>> {
    const { tasks, deliveries, outbox, clock } = this.options
    const at = clock.now()
    const messagesBefore = at - pushedMs
    await outbox.passRowsBefore(tx, pushConsumer, messagesBefore)
    const core = await deliveries.cancelCore(tx)
    for (const ofApp of groupBy(core, ({ appId }) => appId).values())
      await tasks.addDevices(tx, finishedOf(ofApp))
    const cancelled = await tasks.cancelStale(tx, { messagesBefore, at })
    return {
      endedMessagePushes: cancelled.messages,
      endedCorePushes: cancelled.core + core.length,
    }
  }

  async #endLogins(): Promise<number> {
    const { database, apps, tokens, clock } = this.options
    let count = 0
    for (const { appId } of await database.read((db) => apps.list(db)))
      for (let ended = -1; ended !== 0; count += ended)
        ended = await database.transaction((tx) =>
          tokens.revokeSome(tx, appId, clock.now(), tokensPerTransaction),
        )
    return count
  }
}
