import { AppError, type Int64, memberRole, systemUserId } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import type { AppService } from '../../apps/app-service.js'
import { readAppSettings } from '../../apps/app-settings.js'
import type { GroupEvents } from '../../groups/core/group-events.js'
import { groupEvent, usualCapacity } from '../../groups/core/group-model.js'
import type { GroupConversations } from '../../groups/membership/group-conversations.js'
import type { ItemOutcome } from '../../item-outcome.js'
import { requireName } from '../../names.js'
import { LockedUsers, type UserLocker } from '../../users/locked-users.js'
import { type ImportedAs, type ImportKey, importedKind } from '../import-model.js'
import type { ImportStore } from '../import-store.js'
import type { GroupRows, MemberRows } from '../ports.js'

interface GroupImportOptions {
  readonly database: Database
  readonly apps: Pick<AppService, 'get'>
  readonly imports: ImportStore
  readonly users: UserLocker
  readonly groups: GroupRows
  readonly members: MemberRows
  readonly conversations: Pick<GroupConversations, 'begin'>
  readonly events: GroupEvents
  readonly ids: IdGenerator
  readonly clock: Clock
}

/** A group to import. */
export interface GroupItem {
  readonly externalId: string
  readonly ownerId: Int64
  readonly name: string
  readonly avatar: string
  readonly description: string
  readonly ext: string
  readonly type: number
  readonly isHistoryVisible: boolean
  /** undefined: the usual one */
  readonly capacity: Int64 | undefined
  /** undefined: now */
  readonly createdAt: number | undefined
}

interface MadeGroup {
  readonly item: GroupItem
  readonly groupId: number
  readonly capacity: Int64
}

/** Groups of one transaction, since sends wait for it. */
const groupsPerStep = 50

/** Imports groups with their owners. */
export class GroupImportService {
  constructor(private readonly options: GroupImportOptions) {}

  /**
   * Makes the groups that the source has not imported yet, some in each transaction.
   * @returns user_not_found, user_deleted, invalid_parameter, capacity_invalid
   * @throws AppError app_not_found, import_finished
   */
  async import(key: ImportKey, items: readonly GroupItem[]): Promise<ItemOutcome<ImportedAs>[]> {
    const { database, apps, imports, ids, clock } = this.options
    await apps.get(key.appId)
    await database.transaction((tx) => imports.open(tx, key, clock.now()))
    const outcomes: ItemOutcome<ImportedAs>[] = []
    for (const step of chunksOf(items, groupsPerStep)) {
      const groupIds = await ids.take(step.length)
      const stored = await database.transaction((tx) => this.#store(tx, key, step, groupIds))
      outcomes.push(...stored)
    }
    return outcomes
  }

  async #store(
    tx: Tx,
    key: ImportKey,
    items: readonly GroupItem[],
    groupIds: readonly number[],
  ): Promise<ItemOutcome<ImportedAs>[]> {
    const { imports, users: locker, clock } = this.options
    const now = clock.now()
    await imports.open(tx, key, now)
    const kind = importedKind.group
    const found = await imports.findItems(tx, key, {
      kind,
      externalIds: items.map(({ externalId }) => externalId),
    })
    const known = new Map([...found].map(([externalId, { itemId }]) => [externalId, itemId]))
    const ownerIds = items.map(({ ownerId }) => ownerId)
    const users = await LockedUsers.lockNoKeyUpdate(tx, locker, key.appId, ownerIds)
    const settings = await readAppSettings(tx, key.appId)
    const usual = usualCapacity(settings)
    const made: MadeGroup[] = []
    const outcomes = items.map((item, index): ItemOutcome<ImportedAs> => {
      const before = known.get(item.externalId)
      if (before !== undefined) return { isNew: false, id: before }
      const refusal = refusalOf(item, users, { now, most: settings.group_capacity_limit })
      if (refusal) return refusal
      const groupId = groupIds[index] as number
      known.set(item.externalId, groupId)
      made.push({ item, groupId, capacity: item.capacity ?? usual })
      return { isNew: true, id: groupId }
    })
    for (const each of made) await this.#make(tx, key.appId, each, now)
    await imports.insertItems(
      tx,
      made.map(({ item: { externalId }, groupId }) => ({
        ...{ ...key, kind, externalId, itemId: groupId },
        ...{ lowId: groupId, highId: groupId, seq: 0, hash: '', userId: systemUserId },
      })),
    )
    if (made.length > 0) await imports.count(tx, key, { groups: made.length, now })
    return outcomes
  }

  async #make(
    tx: Tx,
    appId: string,
    { item, groupId, capacity }: MadeGroup,
    now: number,
  ): Promise<void> {
    const { groups, members, conversations, events } = this.options
    const { ownerId, name, avatar, description, ext, type, isHistoryVisible } = item
    const createdAt = item.createdAt ?? now
    const key = { appId, groupId }
    await groups.insert(tx, {
      ...{ app_id: appId, group_id: groupId, owner_id: ownerId, member_count: 1 },
      ...{ name, avatar, description, ext, type, capacity },
      ...{ history_visible: Number(isHistoryVisible), created_at: createdAt },
      ...{ updated_at: now, members_changed_at: now },
    })
    const owner = { user_id: ownerId, role: memberRole.owner, joined_at: createdAt }
    await members.insert(tx, [{ app_id: appId, group_id: groupId, ...owner }])
    await conversations.begin(tx, key, ownerId)
    const created = groupEvent(key, 'created', systemUserId, [ownerId], {
      history_visible: isHistoryVisible,
    })
    events.append(tx, { ...key, type, version: 0 }, created)
  }
}

function refusalOf(
  item: GroupItem,
  users: LockedUsers,
  { now, most }: { readonly now: number; readonly most: number },
): AppError | null {
  const refusal = users.refusal(item.ownerId)
  if (refusal) return new AppError(refusal, `${item.ownerId}`)
  if ((item.createdAt ?? 0) > now)
    return new AppError('invalid_parameter', 'created_at must not be in the future')
  if ((item.capacity ?? 0) > most)
    return new AppError('capacity_invalid', `capacity must be at most ${most}`)
  try {
    requireName(item.name, 'name')
    return null
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
