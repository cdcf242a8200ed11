import type { Int64 } from '@hermod/protocol'
import { readSignedList, signedList } from '../../../lib/secrets/signed-list.js'
import {
  type FileKey,
  type FileRecipient,
  fileRecipientOf,
  recipientNumber,
} from '../file-model.js'

/** The right to upload one file. */
export interface FileTicket extends FileKey {
  /** The uploader; 0: the system. */
  readonly ownerId: Int64
  /** The user whose limits the upload counts for; 0: none. */
  readonly payerId: Int64
  /** The credential epoch of the owner: the ticket ends with the owner's tokens. */
  readonly credentialEpoch: number
  /** A value of filePurpose. */
  readonly purpose: number
  /** A value of fileType; 0: none. */
  readonly fileType: number
  readonly recipient: FileRecipient
  readonly maxBytes: number
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The members of {@link FileTicket}, signed. */
export function ticketText(key: Buffer, ticket: FileTicket): string {
  return signedList(key, [
    ticket.appId,
    ticket.fileId,
    Number(ticket.ownerId),
    Number(ticket.payerId),
    ticket.credentialEpoch,
    ticket.purpose,
    ticket.fileType,
    recipientNumber(ticket.recipient),
    Number(ticket.recipient.id),
    ticket.maxBytes,
    ticket.expiresAt,
  ])
}

type TicketValues = [
  appId: string,
  fileId: string,
  ownerId: number,
  payerId: number,
  credentialEpoch: number,
  purpose: number,
  fileType: number,
  toType: number,
  toId: number,
  maxBytes: number,
  expiresAt: number,
]

/**
 * @returns null when it is not the text of {@link ticketText} under one of these keys; it may have
 * expired
 */
export function readTicketText(keys: readonly Buffer[], text: string): FileTicket | null {
  const values = readSignedList(keys, text)
  if (values === null) return null
  const [appId, fileId, ownerId, payerId, credentialEpoch, purpose, ...others] =
    values as TicketValues
  const [type, toType, toId, maxBytes, expiresAt] = others
  return {
    ...{ appId, fileId, ownerId, payerId, credentialEpoch, purpose },
    fileType: type,
    recipient: fileRecipientOf(toType, toId),
    maxBytes,
    expiresAt,
  }
}
