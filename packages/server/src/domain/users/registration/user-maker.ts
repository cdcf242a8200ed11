import { AppError, type Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { App } from '../../apps/app-model.js'
import type { AppService } from '../../apps/app-service.js'
import { nameViolation } from '../../names.js'
import { importedRow } from '../import/user-import-store.js'
import { systemUserId } from '../system-user.js'
import { emailViolation, type NameRules, profileEvent, usernameViolation } from '../user-model.js'
import type { UserStore } from '../user-store.js'
import { generatedUsername } from './generated-username.js'
import { countNewUsers } from './new-users.js'
import type { UserCountStore } from './user-count-store.js'
import { userRoom } from './user-room.js'

interface UserMakerOptions {
  readonly users: UserStore
  readonly counts: UserCountStore
  readonly apps: AppService
  readonly outbox: Outbox
  readonly clock: Clock
  readonly names: NameRules
}

/** A user without a password to make. */
export interface UserToMake {
  /** Absent: a name is generated. */
  readonly username?: string | undefined
  /** `preferred`: a name is generated where this one is taken or not allowed. */
  readonly usernameIs: 'given' | 'preferred'
  readonly nickName?: string | undefined
  readonly avatar?: string | undefined
  /** Left out where it is taken or not allowed. */
  readonly email?: string | undefined
  readonly isBot: boolean
}

/** The beginning of generated names. */
const prefix = 'user'
/** A generated name that is taken is rarer than a failure of the machine. */
const generatedNames = 2

/** Makes users who have no password, for their first token. */
export class UserMaker {
  constructor(private readonly options: UserMakerOptions) {}

  /** Returns the violations of the names, each beginning with its field on the wire. */
  violationsOf({ username, usernameIs, nickName = '' }: UserToMake): string[] {
    const isGiven = username !== undefined && usernameIs === 'given'
    return [
      isGiven ? usernameViolation(username, this.options.names) : null,
      nameViolation(nickName, 'nick_name'),
    ].filter((violation) => violation !== null)
  }

  /**
   * @param complete stores further data of the user before it is counted
   * @throws AppError user_limit_reached, username_taken
   */
  async make<T>(
    tx: Tx,
    app: App,
    { userId, ...wanted }: UserToMake & { readonly userId: Int64 },
    complete: () => Promise<T>,
  ): Promise<T> {
    const { counts, outbox } = this.options
    const { appId } = app
    const { lastBroadcastId: seen } = await counts.find(tx, appId)
    if ((await userRoom(tx, app, this.options)) <= 0) throw new AppError('user_limit_reached')
    await this.#insert(tx, appId, { ...wanted, userId, seen })
    const { avatar = '' } = wanted
    // The reference keeps an avatar file (rule J6).
    if (avatar !== '')
      outbox.append(
        tx,
        profileEvent({ appId, actorId: systemUserId, userIds: [userId] }, { avatar }),
      )
    const result = await complete()
    await countNewUsers(tx, this.options, { appId, userIds: [userId], seen })
    return result
  }

  /** @throws AppError username_taken */
  async #insert(
    tx: Tx,
    appId: string,
    user: UserToMake & { readonly userId: Int64; readonly seen: number },
  ): Promise<void> {
    const { users, clock } = this.options
    const { userId, nickName: nick_name = '', avatar = '', isBot, seen } = user
    for (const username of this.#usernames(user))
      for (const email of emailsOf(user)) {
        const named = { username, profile: { nick_name, avatar, email }, isBot }
        const row = {
          ...importedRow(appId, userId, named, clock.now()),
          broadcasts_after: seen,
        }
        if ((await users.insertMany(tx, [row])).has(userId)) return
      }
    throw new AppError('username_taken')
  }

  /** The names to try, in order. */
  #usernames({ username, usernameIs }: UserToMake): string[] {
    if (username !== undefined && usernameIs === 'given') return [username]
    const isUsable =
      username !== undefined && usernameViolation(username, this.options.names) === null
    const generated = Array.from({ length: generatedNames }, () => generatedUsername(prefix))
    return isUsable ? [username, ...generated] : generated
  }
}

/** The addresses to try, in order. */
function emailsOf({ email = '' }: UserToMake): string[] {
  return email === '' || emailViolation(email) !== null ? [''] : [email, '']
}
