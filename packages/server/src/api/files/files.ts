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
import type { WantedRecipient } from '../../domain/files/file-recipients.js'
import { FileAddresses } from '../../domain/files/links/file-addresses.js'
import type { ForwardingService } from '../../domain/files/links/forwarding-service.js'
import type { FileTicket } from '../../domain/files/tickets/file-tickets.js'
import type { IssuedTicket, TicketService } from '../../domain/files/tickets/ticket-service.js'
import type {
  DownloadCall,
  DownloadService,
  WantedForm,
} from '../../domain/files/transfer/download-service.js'
import type { UploadService } from '../../domain/files/transfer/upload-service.js'
import {
  type CallContext,
  data,
  type Handler,
  handle,
  handleDownload,
  handleUpload,
  whenDone,
} from '../../pipeline/call.js'
import type { TicketPrincipal } from '../../pipeline/principal.js'

export function fileHandlers({
  downloads,
  fileForwarding,
  fileTickets,
  uploads,
}: {
  readonly downloads: DownloadService
  readonly fileForwarding: ForwardingService
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
      return data(await fileForwarding.forward(principal, params.file_sign, to, addresses))
    }),
    handleUpload(uploadFile, (_, { principal, upload, allowance }) =>
      whenDone(uploads.receive(ticketOf(principal), upload, allowance)),
    ),
    handle(finishUpload, (_, { principal, allowance }) =>
      whenDone(uploads.finish(ticketOf(principal), allowance)),
    ),
    handleDownload(downloadChatFile, (params, context) =>
      downloads.chatFile(downloadCall(context), params.file_sign, toWantedForm(params)),
    ),
    handleDownload(downloadAvatar, (params, context) =>
      downloads.avatar(downloadCall(context), params.object_name, toWantedForm(params)),
    ),
  ]
}

function downloadCall({
  principal,
  allowance,
}: CallContext<typeof downloadChatFile.callers>): DownloadCall {
  return { caller: principal, charge: (tokens) => allowance.charge(tokens) }
}

function ticketOf({ ticket }: TicketPrincipal): FileTicket {
  return ticket as FileTicket
}

type RecipientParams = Pick<ParamsOf<typeof forwardFile>, 'to_id' | 'to_type'>

function toRecipient({ to_id: id, to_type: type }: RecipientParams): WantedRecipient {
  if (type === undefined) return { type: undefined, id }
  return { type: type === targetType.group ? 'group' : 'user', id }
}

type RenditionParams = Pick<ParamsOf<typeof downloadChatFile>, 'image_type' | 'w' | 'h' | 'format'>

/** Ignores thumbnail_strategy: the service makes all renditions, and stores them with the files. */
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
