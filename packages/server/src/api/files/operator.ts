import {
  deleteFile,
  getFile,
  getFileUsage,
  listFiles,
  type OperatorFile,
  revokeFileLinks,
} from '@hermod/protocol'
import type { AppService } from '../../domain/apps/app-service.js'
import { recipientNumber, type StoredFile } from '../../domain/files/file-model.js'
import type { OperatorFileService } from '../../domain/files/operator-file-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function operatorFileHandlers({
  apps,
  operatorFiles,
}: {
  readonly apps: AppService
  readonly operatorFiles: OperatorFileService
}): Handler[] {
  return [
    handle(listFiles, async ({ app_id, cursor, limit }) => {
      const { files, nextCursor } = await operatorFiles.list(app_id, { cursor, limit })
      return data({ files: files.map(toFile), next_cursor: nextCursor })
    }),
    handle(getFile, async ({ app_id: appId, file_id: fileId }) => {
      const { file, references } = await operatorFiles.get({ appId, fileId })
      return data({ ...toFile(file), references })
    }),
    handle(getFileUsage, async () => {
      const usage = await operatorFiles.usage()
      return data(usage.map(({ appId, files, bytes }) => ({ app_id: appId, files, bytes })))
    }),
    handle(deleteFile, ({ app_id: appId, file_id: fileId }) =>
      whenDone(operatorFiles.delete({ appId, fileId })),
    ),
    handle(revokeFileLinks, ({ app_id }) => whenDone(apps.renewFileLinkKey(app_id))),
  ]
}

function toFile(file: StoredFile): OperatorFile {
  return {
    app_id: file.appId,
    file_id: file.fileId,
    owner_id: file.ownerId,
    purpose: file.purpose as OperatorFile['purpose'],
    to_type: recipientNumber(file.recipient),
    to_id: file.recipient.id,
    name: file.name,
    content_type: file.contentType,
    size: file.size,
    created_at: file.createdAt,
  }
}
