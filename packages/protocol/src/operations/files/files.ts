import {
  fileType,
  imageType,
  meaningsOf,
  targetType,
  thumbnailStrategy,
  voiceFormats,
} from '../../enums.js'
import { maxFileBytes } from '../../limits/file-limits.js'
import { operation } from '../../operation.js'
import { UploadTicket } from '../../resources/files.js'
import { boolean, double, intEnum, optional, string, stringEnum, text } from '../../schema.js'
import { get, groupId, id } from '../fields.js'

const tag = 'Files'

const origin = 'extension'

const recipient = {
  to_id: id('receiving user or group'),
  to_type: optional(intEnum(meaningsOf(targetType), { description: 'what to_id is' })),
}

const fileSign = {
  file_sign: string({
    description: 'text after sign= in a download_url',
    minLength: 1,
    maxLength: 2048,
  }),
}

/** Reasons why the caller may not write to the recipient of a file. */
const recipientErrors = [
  'user_not_found',
  'user_deleted',
  'blocked_by_recipient',
  'stranger_refused',
  'group_not_found',
  'not_group_member',
  'member_banned',
] as const

const renditionErrors = [
  'rendition_unavailable',
  'picture_too_complex',
  'files_on_other_node',
  'object_storage_failed',
] as const

const rendition = {
  image_type: optional(intEnum(meaningsOf(imageType), { default: 1 })),
  w: optional(double({ description: 'width in pixels', minimum: 0 })),
  h: optional(double({ description: 'height in pixels', minimum: 0 })),
  thumbnail_strategy: optional(intEnum(meaningsOf(thumbnailStrategy), { default: 1 })),
  store_token: optional(string({ description: 'file token of the Token record' })),
  sdk_sign: optional(string({ description: 'signature under the file key of the Token record' })),
}

/** The first step of an upload (rule K8). */
export const getChatUploadTicket = operation({
  id: 'file.upload.chat',
  methods: get,
  path: '/file/upload/chat',
  tag,
  summary: 'Gets an upload ticket for a file of a chat.',
  callers: 'user',
  scopes: ['messages:send'],
  query: {
    file_type: intEnum(meaningsOf(fileType)),
    ...recipient,
  },
  data: UploadTicket,
  errors: [
    ...recipientErrors,
    'member_required',
    'file_type_invalid',
    'file_quota_reached',
    'files_on_other_node',
  ],
  origin,
})

/** Same as {@link getChatUploadTicket}, for the avatar of the acting user (rule K8). */
export const getUserAvatarUploadTicket = operation({
  id: 'file.upload.avatar.user',
  methods: get,
  path: '/file/upload/avatar/user',
  tag,
  summary: 'Gets an upload ticket for the avatar of the user.',
  callers: 'user',
  scopes: ['users:write'],
  data: UploadTicket,
  errors: ['file_quota_reached', 'files_on_other_node'],
  origin,
})

/**
 * Browsers request it without headers, so both credentials are also accepted in the query (rule
 * K8).
 */
export const getGroupAvatarUploadTicket = operation({
  id: 'file.upload.avatar.group',
  methods: get,
  path: '/file/upload/avatar/group',
  tag,
  summary: 'Gets an upload ticket for the avatar of a group.',
  callers: 'member',
  scopes: ['groups'],
  credentials: 'query',
  query: { group_id: groupId },
  data: UploadTicket,
  errors: [
    'group_not_found',
    'member_required',
    'group_admin_required',
    'file_quota_reached',
    'files_on_other_node',
  ],
  origin,
})

const ticket = {
  ticket: string({ description: 'from upload_url', minLength: 1, maxLength: 2048 }),
}

const uploadErrors = [
  'upload_ticket_invalid',
  'upload_ticket_used',
  'file_missing',
  'file_type_invalid',
  'picture_too_complex',
  'file_too_large',
  'file_quota_reached',
  'file_storage_full',
  'files_on_other_node',
  'object_storage_failed',
] as const

/**
 * Not in the contract, since clients take the address from upload_url of a ticket. The form has the
 * fields of oss_body_param, and after them the file in the field `file` (rules K8, J2).
 */
export const uploadFile = operation({
  id: 'file.upload',
  methods: ['POST'],
  path: '/file/upload',
  tag,
  summary: 'Takes the file of an upload ticket.',
  callers: 'ticket',
  credentials: 'ticket',
  query: ticket,
  data: boolean({ description: 'true: the file is stored' }),
  errors: ['upload_form_invalid', 'file_name_invalid', ...uploadErrors],
  origin,
  takesFile: { maxBytes: maxFileBytes },
  socket: false,
})

/**
 * Redirect target after an upload directly to an object store; the answer is that of {@link
 * uploadFile}.
 */
export const finishUpload = operation({
  id: 'file.upload.done',
  methods: get,
  path: '/file/upload/done',
  tag,
  summary: 'Notes that the file of an upload ticket is in the object store.',
  callers: 'ticket',
  credentials: 'ticket',
  socket: false,
  query: ticket,
  data: boolean({ description: 'true: the file is stored' }),
  errors: uploadErrors,
  origin,
})

/** Copies nothing: the address is signed again for its new recipient (rule K8). */
export const forwardFile = operation({
  id: 'file.upload.forward',
  methods: get,
  path: '/file/upload/forward',
  tag,
  summary: 'Makes the download address of a file valid for another recipient.',
  callers: 'user',
  scopes: ['messages:read', 'messages:send'],
  credentials: 'query',
  query: { ...fileSign, ...recipient },
  data: text('download URL for the new recipient'),
  errors: ['file_signature_invalid', 'file_not_found', 'no_permission', ...recipientErrors],
  origin,
})

/**
 * Answers with bytes; a failure answers the envelope. Credentials may come in the query (rules K8,
 * J5).
 */
export const downloadChatFile = operation({
  id: 'file.download.chat',
  methods: get,
  path: '/file/download/chat',
  tag,
  summary: 'Downloads a file of a chat.',
  callers: 'member',
  scopes: ['messages:read'],
  credentials: 'query',
  query: {
    ...fileSign,
    ...rendition,
    format: optional(
      stringEnum(voiceFormats, { description: 'form of a voice file, default amr' }),
    ),
    source: optional(string({ description: 'empty, or miniprogram', maxLength: 32 })),
  },
  data: text('the file itself'),
  signedParameter: 'file_sign',
  errors: [
    'file_signature_invalid',
    'file_not_found',
    'no_permission',
    ...renditionErrors,
    'voice_conversion_unavailable',
  ],
  origin,
  answersFile: true,
  socket: false,
})

/**
 * Answers with bytes; a failure answers the envelope. Credentials may come in the query (rules K8,
 * J5).
 */
export const downloadAvatar = operation({
  id: 'file.download.avatar',
  methods: get,
  path: '/file/download/avatar',
  tag,
  summary: 'Downloads an avatar.',
  callers: 'member',
  scopes: ['messages:read'],
  credentials: 'query',
  query: {
    object_name: string({ description: 'name of the stored avatar', minLength: 1 }),
    ...rendition,
  },
  data: text('the file itself'),
  signedParameter: 'object_name',
  errors: ['file_not_found', ...renditionErrors],
  origin,
  answersFile: true,
  socket: false,
})
