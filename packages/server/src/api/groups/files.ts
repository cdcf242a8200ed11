import {
  deleteSharedFiles,
  getSharedFile,
  listSharedFiles,
  renameSharedFile,
  type SharedFile,
  shareFile,
} from '@hermod/protocol'
import type { SharedFileService } from '../../domain/groups/content/shared-file-service.js'
import type { GroupFile } from '../../domain/groups/core/group-model.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { idResults, toOutcomeFields } from '../item-list.js'

export function sharedFileHandlers({
  sharedFiles,
}: {
  readonly sharedFiles: SharedFileService
}): Handler[] {
  return [
    handle(shareFile, async ({ group_id: groupId, name, size, type = '', url }, { principal }) =>
      data(
        toSharedFileResource(
          await sharedFiles.share(principal, groupId, {
            name,
            size,
            type,
            url,
          }),
        ),
      ),
    ),
    handle(getSharedFile, async ({ group_id: groupId, file_id: fileId }, { principal }) =>
      data(toSharedFileResource(await sharedFiles.get(principal, groupId, fileId))),
    ),
    handle(listSharedFiles, async ({ group_id: groupId }, { principal }) =>
      data((await sharedFiles.list(principal, groupId)).map(toSharedFileResource)),
    ),
    handle(renameSharedFile, ({ group_id: groupId, file_id: fileId, name }, { principal }) =>
      whenDone(sharedFiles.rename(principal, groupId, fileId, name)),
    ),
    handle(deleteSharedFiles, async ({ group_id: groupId, file_list: fileIds }, { principal }) =>
      data(
        await idResults(
          fileIds,
          (distinct) => sharedFiles.delete(principal, groupId, distinct),
          (fileId, outcome) => ({ file_id: fileId, ...toOutcomeFields(outcome) }),
        ),
      ),
    ),
  ]
}

function toSharedFileResource(file: GroupFile): SharedFile {
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
