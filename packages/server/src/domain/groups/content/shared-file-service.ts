import { AppError, type ErrorName, type Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import { acceptedOf, type ItemOutcome, toOutcome } from '../../item-outcome.js'
import {
  type GroupAccess,
  type GroupCaller,
  type GroupContext,
  isBelow,
  lowestRole,
} from '../core/group-access.js'
import type { GroupEvents } from '../core/group-events.js'
import { type GroupFile, groupEvent } from '../core/group-model.js'
import type { SharedFileStore } from './shared-file-store.js'

interface SharedFileServiceOptions {
  readonly access: GroupAccess
  readonly files: SharedFileStore
  readonly events: GroupEvents
  readonly ids: IdGenerator
}

/** Limit that keeps the list, which has no pages, small enough for one answer. */
const filesPerGroup = 1_000

/** Metadata of files that members share, without the files themselves. */
export class SharedFileService {
  constructor(private readonly options: SharedFileServiceOptions) {}

  /** @throws AppError group_not_found, member_required, shared_file_limit_reached */
  async share(
    caller: GroupCaller,
    groupId: Int64,
    about: Pick<GroupFile, 'name' | 'size' | 'type' | 'url'>,
  ): Promise<GroupFile> {
    const { access, files, ids } = this.options
    return access.change(caller, groupId, 'share', {}, async (tx, context) => {
      const { group, now } = context
      if ((await files.count(tx, group)) >= filesPerGroup)
        throw new AppError('shared_file_limit_reached')
      const [fileId] = ids.takeReserved(1) as [number]
      const file = {
        groupId: group.groupId,
        fileId,
        uploaderId: caller.actorId,
        ...about,
        createdAt: now,
        updatedAt: now,
      }
      await files.insert(tx, group, file)
      await this.#appendEvent(tx, context, 'file_uploaded', [file])
      return file
    })
  }

  /** @throws AppError group_not_found, member_required, shared_file_not_found */
  async get(caller: GroupCaller, groupId: Int64, fileId: Int64): Promise<GroupFile> {
    const { access, files } = this.options
    return access.read(caller, groupId, 'read', async (db, { group }) => {
      const file = (await files.findMany(db, group, [fileId])).get(fileId)
      if (!file) throw new AppError('shared_file_not_found')
      return file
    })
  }

  /**
   * Lists oldest first.
   * @throws AppError group_not_found, member_required
   */
  async list(caller: GroupCaller, groupId: Int64): Promise<GroupFile[]> {
    const { access, files } = this.options
    return access.read(caller, groupId, 'read', (db, { group }) => files.list(db, group))
  }

  /**
   * @throws AppError group_not_found, member_required, shared_file_not_found, shared_file_forbidden
   */
  async rename(caller: GroupCaller, groupId: Int64, fileId: Int64, name: string): Promise<void> {
    const { access, files } = this.options
    await access.change(caller, groupId, 'read', {}, async (tx, context) => {
      const file = (await files.findMany(tx, context.group, [fileId])).get(fileId)
      const refusal = fileRefusalOf(context, file)
      if (refusal) throw new AppError(refusal)
      if (!file || file.name === name) return
      await files.rename(tx, context.group, file.fileId, name, context.now)
      await this.#appendEvent(tx, context, 'file_updated', [{ ...file, name }])
    })
  }

  /**
   * @param fileIds distinct
   * @returns shared_file_not_found, shared_file_forbidden
   * @throws AppError group_not_found, member_required
   */
  async delete(
    caller: GroupCaller,
    groupId: Int64,
    fileIds: readonly Int64[],
  ): Promise<ItemOutcome[]> {
    const { access, files } = this.options
    return access.change(caller, groupId, 'read', {}, async (tx, context) => {
      const found = await files.findMany(tx, context.group, fileIds)
      const outcomes = fileIds.map((fileId) => toOutcome(fileRefusalOf(context, found.get(fileId))))
      const deleted = acceptedOf(fileIds, outcomes).flatMap((fileId) => found.get(fileId) ?? [])
      await files.delete(
        tx,
        context.group,
        deleted.map(({ fileId }) => fileId),
      )
      await this.#appendEvent(tx, context, 'file_deleted', deleted)
      return outcomes
    })
  }

  async #appendEvent(
    tx: Tx,
    { group, caller }: GroupContext,
    kind: 'file_uploaded' | 'file_updated' | 'file_deleted',
    files: readonly GroupFile[],
  ): Promise<void> {
    const events = files.map(({ fileId, name }) =>
      groupEvent(group, kind, caller.actorId, [], { file_id: fileId, name }),
    )
    this.options.events.append(tx, group, ...events)
  }
}

/**
 * Reason why the caller may not change the file, or null. The uploader may, and callers with the
 * right `files`.
 */
function fileRefusalOf(
  { caller, group, role }: GroupContext,
  file: GroupFile | undefined,
): ErrorName | null {
  if (!file) return 'shared_file_not_found'
  const isOwn = caller.userId !== null && caller.userId === file.uploaderId
  return isOwn || !isBelow(role, lowestRole('files', group.flags)) ? null : 'shared_file_forbidden'
}
