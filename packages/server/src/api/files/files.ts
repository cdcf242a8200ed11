import {
  downloadAvatar,
  downloadChatFile,
  finishUpload,
  forwardFile,
  getChatUploadTicket,
  getGroupAvatarUploadTicket,
  getUserAvatarUploadTicket,
  imageType,
  type ParamsOf,
  targetType,
  type UploadTicket,
  uploadFile,
} from '@hermod/protocol'
import type { DownloadService, WantedForm } from '../../domain/files/transfer/download-service.js'
import { FileAddresses } from '../../domain/files/transfer/file-addresses.js'
import type {
  IssuedTicket,
  TicketService,
  WantedRecipient,
} from '../../domain/files/transfer/ticket-service.js'
import type { UploadService } from '../../domain/files/transfer/upload-service.js'
import {
  data,
  type Handler,
  handle,
  handleDownload,
  handleUpload,
  whenDone,
} from '../../pipeline/call.js'

export function fileHandlers({
  downloads,
  fileTickets,
  uploads,
}: {
  readonly downloads: DownloadService
  readonly fileTickets: TicketService
  readonly uploads: UploadService
}): Handler[] {
  return [
    handle(getChatUploadTicket, async (params, { principal, baseUrl }) => {
      const addresses = new FileAddresses(baseUrl)
      const to = toRecipient(params)
      return data(
        toTicketResource(
          await fileTickets.issueForChat(principal, to, params.file_type, addresses),
        ),
      )
    }),
    handle(getUserAvatarUploadTicket, async (_, { principal, baseUrl }) => {
      const addresses = new FileAddresses(baseUrl)
      return data(toTicketResource(await fileTickets.issueForUserAvatar(principal, addresses)))
    }),
    handle(getGroupAvatarUploadTicket, async ({ group_id: groupId }, { principal, baseUrl }) => {
      const addresses = new FileAddresses(baseUrl)
      return data(
        toTicketResource(await fileTickets.issueForGroupAvatar(principal, groupId, addresses)),
      )
    }),
    handle(forwardFile, async (params, { principal, baseUrl }) => {
      const addresses = new FileAddresses(baseUrl)
      const to = toRecipient(params)
      return data(await fileTickets.forward(principal, params.file_sign, to, addresses))
    }),
    handleUpload(uploadFile, ({ ticket }, { upload, allowance }) =>
      whenDone(uploads.receive(ticket, upload, (bytes) => allowance.chargeFileBytes(bytes))),
    ),
    handle(finishUpload, ({ ticket }, { allowance }) =>
      whenDone(uploads.finish(ticket, (bytes) => allowance.chargeFileBytes(bytes))),
    ),
    handleDownload(downloadChatFile, (params, { principal }) =>
      downloads.chatFile(principal, params.file_sign, toWantedForm(params)),
    ),
    handleDownload(downloadAvatar, (params, { principal }) =>
      downloads.avatar(principal.appId, params.object_name, toWantedForm(params)),
    ),
  ]
}

type RecipientParams = Pick<ParamsOf<typeof forwardFile>, 'to_id' | 'to_type'>

function toRecipient({ to_id: id, to_type: type }: RecipientParams): WantedRecipient {
  if (type === undefined) return { type: undefined, id }
  return { type: type === targetType.group ? 'group' : 'user', id }
}

type RenditionParams = Pick<ParamsOf<typeof downloadChatFile>, 'image_type' | 'w' | 'h' | 'format'>

/** thumbnail_strategy makes no difference: the service makes all renditions, and keeps them where the files are. */
function toWantedForm({
  image_type = imageType.original,
  w,
  h,
  format,
}: RenditionParams): WantedForm {
  return { imageType: image_type, width: w, height: h, format }
}

function toTicketResource({ url, fields, downloadUrl }: IssuedTicket): UploadTicket {
  return {
    upload_url: url,
    upload_method: 'POST',
    oss_body_param: fields,
    download_url: downloadUrl,
  }
}
