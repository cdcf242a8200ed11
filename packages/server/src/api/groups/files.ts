import {
  deleteSharedFiles,
  errorCatalogue,
  type FileResult,
  getSharedFile,
  listSharedFiles,
  renameSharedFile,
  type SharedFile,
  shareFile,
} from '@hermod/protocol'
import type { SharedFileService } from '../../domain/groups/content/shared-file-service.js'
import type { GroupFile } from '../../domain/groups/core/group-model.js'
import type { Outcomes } from '../../domain/groups/membership/membership-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller } from './group-caller.js'

interface Services {
  readonly accounts: AccountService
  readonly sharedFiles: SharedFileService
}

export function sharedFileHandlers({ accounts, sharedFiles }: Services): Handler[] {
  return [
    handle(shareFile, async ({ group_id: groupId, name, size, type = '', url }, { caller }) =>
      data(
        toSharedFile(
          await sharedFiles.share(await groupCaller(accounts, caller, groupId), groupId, {
            name,
            size,
            type,
            url,
          }),
        ),
      ),
    ),
    handle(getSharedFile, async ({ group_id: groupId, file_id: fileId }, { caller }) =>
      data(
        toSharedFile(
          await sharedFiles.get(await groupCaller(accounts, caller, groupId), groupId, fileId),
        ),
      ),
    ),
    handle(listSharedFiles, async ({ group_id: groupId }, { caller }) =>
      data(
        (await sharedFiles.list(await groupCaller(accounts, caller, groupId), groupId)).map(
          toSharedFile,
        ),
      ),
    ),
    handle(renameSharedFile, async ({ group_id: groupId, file_id: fileId, name }, { caller }) => {
      await sharedFiles.rename(await groupCaller(accounts, caller, groupId), groupId, fileId, name)
      return data(true)
    }),
    handle(deleteSharedFiles, async ({ group_id: groupId, file_list: fileIds }, { caller }) =>
      data(
        toFileResults(
          await sharedFiles.delete(await groupCaller(accounts, caller, groupId), groupId, fileIds),
        ),
      ),
    ),
  ]
}

function toFileResults(outcomes: Outcomes): FileResult[] {
  return [...outcomes].map(([fileId, refusal]) =>
    refusal === null
      ? { file_id: fileId, result: 'success' }
      : { file_id: fileId, result: 'fail', reason: errorCatalogue[refusal].text },
  )
}

function toSharedFile(file: GroupFile): SharedFile {
  const { createdAt, fileId, groupId, name, size, type, updatedAt, uploaderId, url } = file
  return {
    created_at: createdAt,
    file_id: fileId,
    group_id: groupId,
    name,
    size,
    type,
    updated_at: updatedAt,
    uploader: uploaderId,
    url,
  }
}
