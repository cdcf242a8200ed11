import { fileReferenceKind, groupStatus, type Int64, systemUserId } from '@hermod/protocol'
import { camelCase, camelCaseText, columnsOf } from '../../../db/columns.js'
import type { Database, PreparedPage, Queryable } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import { groupFilesTable, groupsTable, usersTable } from '../../../db/schema.js'
import { readAppSettings } from '../../apps/app-settings.js'
import {
  attachmentMayReferToFiles,
  type FileReferrer,
  groupAvatarReferrer,
  messageReferrer,
  type ReferencingText,
  sharedFileReferrer,
  userAvatarReferrer,
} from './reference-model.js'

interface AttachmentRow {
  readonly lowId: Int64
  readonly highId: Int64
  readonly msgId: number
  readonly attachment: string
}
interface UserAvatarRow {
  readonly userId: Int64
  readonly avatar: string
}
interface GroupAvatarRow {
  readonly groupId: Int64
  readonly avatar: string
  readonly status: number
}
interface SharedFileRow {
  readonly groupId: Int64
  readonly fileId: number
  readonly url: string
  readonly status: number
}

/** A place in the order of the referrers of one kind. */
type ReferrerKey = Pick<FileReferrer, 'lowId' | 'highId' | 'itemId'> & { readonly appId: string }

const findMessages: BulkSelect = {
  table: 'messages',
  keys: { app_id: 'text', low_id: 'bigint', high_id: 'bigint', msg_id: 'bigint' },
  columns: camelCaseText(['low_id', 'high_id', 'msg_id', 'attachment'], 't'),
}
const findUsers: BulkSelect = {
  table: 'users',
  keys: columnsOf(usersTable, 'app_id', 'user_id'),
  columns: camelCaseText(['user_id', 'avatar'], 't'),
}
const findGroups: BulkSelect = {
  table: 'groups',
  keys: columnsOf(groupsTable, 'app_id', 'group_id'),
  columns: camelCaseText(['group_id', 'avatar', 'status'], 't'),
}
const findSharedFiles: BulkSelect = {
  table: 'group_files',
  keys: columnsOf(groupFilesTable, 'app_id', 'group_id', 'file_id'),
  columns: `${camelCaseText(['group_id', 'file_id', 'url'], 't')},
    (select g.status from groups g where g.app_id = t.app_id and g.group_id = t.group_id) as status`,
}

/**
 * Reads the texts that may refer to files: existing messages, and avatars and shared files of
 * existing users and groups. The avatar of the system, user 0, is a setting of the app.
 */
export class ReferencingTextStore {
  readonly #messages: PreparedPage<ReferrerKey, AttachmentRow>
  readonly #users: PreparedPage<ReferrerKey, UserAvatarRow>
  readonly #groups: PreparedPage<ReferrerKey, GroupAvatarRow>
  readonly #sharedFiles: PreparedPage<ReferrerKey, SharedFileRow>

  constructor(private readonly database: Database) {
    this.#messages = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('messages')
        .select(camelCase(['low_id', 'high_id', 'msg_id']))
        .select(
          sql<string>`case when ${attachmentMayReferToFiles} then attachment else '' end`.as(
            'attachment',
          ),
        )
        .where('app_id', '=', param('appId'))
        .where(
          sql<boolean>`(low_id, high_id, msg_id) > (${param('lowId')}, ${param('highId')}, ${param('itemId')})`,
        )
        .orderBy('low_id')
        .orderBy('high_id')
        .orderBy('msg_id')
        .limit(limit),
    )
    this.#users = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('users')
        .select(camelCase(['user_id', 'avatar']))
        .where('app_id', '=', param('appId'))
        .where('user_id', '>', param('lowId'))
        .orderBy('user_id')
        .limit(limit),
    )
    this.#groups = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('groups')
        .select(camelCase(['group_id', 'avatar', 'status']))
        .where('app_id', '=', param('appId'))
        .where('group_id', '>', param('lowId'))
        .orderBy('group_id')
        .limit(limit),
    )
    this.#sharedFiles = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('group_files as f')
        .innerJoin('groups as g', (join) =>
          join.onRef('g.app_id', '=', 'f.app_id').onRef('g.group_id', '=', 'f.group_id'),
        )
        .select(camelCase(['group_id', 'file_id', 'url'], 'f'))
        .select('g.status')
        .where('f.app_id', '=', param('appId'))
        .where(sql<boolean>`(f.group_id, f.file_id) > (${param('lowId')}, ${param('itemId')})`)
        .orderBy('f.group_id')
        .orderBy('f.file_id')
        .limit(limit),
    )
  }

  /** Finds the texts of existing referrers, in no particular order. */
  async findOf(
    db: Queryable,
    appId: string,
    referrers: readonly FileReferrer[],
  ): Promise<ReferencingText[]> {
    const keysOf = (kind: number, keyOf: (referrer: FileReferrer) => readonly unknown[]) =>
      referrers
        .filter((referrer) => referrer.kind === kind)
        .map((referrer) => [appId, ...keyOf(referrer)])
    const owner = ({ lowId }: FileReferrer) => [lowId]
    const messages = await this.database.bulk<AttachmentRow>(
      db,
      findMessages,
      keysOf(fileReferenceKind.message, ({ lowId, highId, itemId }) => [lowId, highId, itemId]),
    )
    const users = await this.database.bulk<UserAvatarRow>(
      db,
      findUsers,
      keysOf(fileReferenceKind.userAvatar, owner),
    )
    const groups = await this.database.bulk<GroupAvatarRow>(
      db,
      findGroups,
      keysOf(fileReferenceKind.groupAvatar, owner),
    )
    const sharedFiles = await this.database.bulk<SharedFileRow>(
      db,
      findSharedFiles,
      keysOf(fileReferenceKind.sharedFile, ({ lowId, itemId }) => [lowId, itemId]),
    )
    const isSystem = ({ kind, lowId }: FileReferrer) =>
      kind === fileReferenceKind.userAvatar && lowId === systemUserId
    return [
      ...messages.map(ofMessage),
      ...users.map(userReferences),
      ...(referrers.some(isSystem) ? [await ofSystem(db, appId)] : []),
      ...groups.map(groupReferences),
      ...sharedFiles.map(ofSharedFile),
    ]
  }

  /**
   * Lists the texts of one kind in the order of their referrers, after a referrer: at least `limit`
   * unless these were the last.
   * @param after null: from the first
   */
  async list(
    db: Queryable,
    appId: string,
    { kind, after, limit }: { kind: number; after: FileReferrer | null; limit: number },
  ): Promise<ReferencingText[]> {
    const place = { ...(after ?? first), appId, limit }
    if (kind === fileReferenceKind.message)
      return (await this.#messages.all(db, place)).map(ofMessage)
    if (kind === fileReferenceKind.userAvatar) {
      const users = (await this.#users.all(db, place)).map(userReferences)
      return after === null ? [await ofSystem(db, appId), ...users] : users
    }
    if (kind === fileReferenceKind.groupAvatar)
      return (await this.#groups.all(db, place)).map(groupReferences)
    return (await this.#sharedFiles.all(db, place)).map(ofSharedFile)
  }
}

/** Sorts before every referrer. */
const first = { lowId: -2, highId: -2, itemId: -1 }

function ofMessage({ lowId, highId, msgId, attachment }: AttachmentRow): ReferencingText {
  return { referrer: messageReferrer(lowId, highId, msgId), text: attachment }
}

function userReferences({ userId, avatar }: UserAvatarRow): ReferencingText {
  return { referrer: userAvatarReferrer(userId), text: avatar }
}

async function ofSystem(db: Queryable, appId: string): Promise<ReferencingText> {
  const { system_avatar: text } = await readAppSettings(db, appId)
  return { referrer: userAvatarReferrer(systemUserId), text }
}

function groupReferences({ groupId, avatar, status }: GroupAvatarRow): ReferencingText {
  return { referrer: groupAvatarReferrer(groupId), text: isPresent(status) ? avatar : '' }
}

function ofSharedFile({ groupId, fileId, url, status }: SharedFileRow): ReferencingText {
  return { referrer: sharedFileReferrer(groupId, fileId), text: isPresent(status) ? url : '' }
}

function isPresent(status: number): boolean {
  return status !== groupStatus.dissolved
}
