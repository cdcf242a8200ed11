import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { compare } from '../../../lib/compare.js'
import { groupBy } from '../../../lib/group-by.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import type { CoreChannel } from '../../../push/core-channel.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import type { PushedMessage } from '../content/pushed-message.js'
import type { TaskContent } from '../content/task-content.js'
import type { AudienceStore, FoundDevice } from './audience-store.js'
import { allDevicesOf, type RecipientPage } from './recipient.js'

interface AudienceReaderOptions {
  readonly database: Database
  readonly store: AudienceStore
  readonly core: Pick<CoreChannel, 'listUsers'>
  readonly messages: Pick<MessageReceivers, 'page'>
}

/** Finds the receivers of messages. */
export interface MessageReceivers {
  /** @param after users with IDs above it */
  page(appId: string, message: PushedMessage, after: Int64, limit: number): Promise<RecipientPage>
  countMembers(group: GroupKey): Promise<number>
}

/** An audience, and the channels by which it is reached. */
export interface AudienceContent {
  readonly appId: string
  readonly content: Pick<TaskContent, 'audience' | 'strategy'>
}

/** Lists the users of an audience, by user ID. */
export class AudienceReader {
  constructor(private readonly options: AudienceReaderOptions) {}

  /** The next part of the audience. @param after users with IDs above it */
  async page(
    { appId, content }: AudienceContent,
    after: Int64,
    limit: number,
  ): Promise<RecipientPage> {
    const { audience, strategy } = content
    switch (audience.kind) {
      case 'all':
        return this.#everybody(appId, strategy !== 'ospush_only', after, limit)
      case 'tag':
        return this.#tagged(appId, audience.values, after, limit)
      case 'message':
        return this.options.messages.page(appId, audience.message, after, limit)
      case 'user_id':
        return fewDevices(
          audience.values.map((userId) => ({ userId, deviceSn: null })),
          after,
          limit,
        )
      case 'alias':
        return fewDevices(await this.#find('findByAlias', appId, audience.values), after, limit)
      case 'push_token':
        return fewDevices(await this.#find('findByPushToken', appId, audience.values), after, limit)
    }
  }

  #find(
    name: 'findByAlias' | 'findByPushToken',
    appId: string,
    values: readonly string[],
  ): MaybePromise<FoundDevice[]> {
    const { database, store } = this.options
    return database.read((db) => store[name](db, appId, values))
  }

  async #everybody(
    appId: string,
    withConnected: boolean,
    after: Int64,
    limit: number,
  ): Promise<RecipientPage> {
    const { database, store, core } = this.options
    const lists = await Promise.all([
      database.read((db) => store.listBound(db, appId, after, limit)),
      withConnected ? core.listUsers(appId, after, limit) : [],
    ])
    return pageOf(lists, after, limit)
  }

  async #tagged(
    appId: string,
    tags: readonly string[],
    after: Int64,
    limit: number,
  ): Promise<RecipientPage> {
    const { database, store } = this.options
    const lists = await database.read((db) =>
      Promise.all(tags.map((tag) => store.listTagged(db, { appId, tag }, after, limit))),
    )
    return pageOf(lists, after, limit)
  }
}

/**
 * Merges lists with the same limit. Users after the end of a full list may be missing from it, so
 * they are left out. A list may repeat a user.
 */
function pageOf(lists: readonly (readonly Int64[])[], after: Int64, limit: number): RecipientPage {
  const [end] = lists.flatMap((list) => (list.length < limit ? [] : list.slice(-1))).sort(compare)
  const known = [...new Set(lists.flat())].filter(
    (userId) => end === undefined || compare(userId, end) <= 0,
  )
  const users = known.sort(compare).slice(0, limit)
  return {
    recipients: users.map(allDevicesOf),
    upTo: users.at(-1) ?? after,
    isLast: end === undefined && users.length === known.length,
  }
}

/** A part of an audience that was found as a whole. */
function fewDevices(found: readonly FoundDevice[], after: Int64, limit: number): RecipientPage {
  const users = groupBy(
    found.filter(({ userId }) => userId > after),
    ({ userId }) => userId,
  )
  const recipients = [...users]
    .sort(([a], [b]) => compare(a, b))
    .slice(0, limit)
    .map(([userId, devices]) => {
      const some = devices.flatMap(({ deviceSn }) => deviceSn ?? [])
      const deviceSns = some.length < devices.length ? null : [...new Set(some)]
      return { ...allDevicesOf(userId), deviceSns }
    })
  return {
    recipients,
    upTo: recipients.at(-1)?.userId ?? after,
    isLast: recipients.length === users.size,
  }
}
