import {
  fileType,
  imageType,
  meaningsOf,
  targetType,
  thumbnailStrategy,
  voiceFormats,
} from '../enums.js'
import { operation } from '../operation.js'
import { UploadTicket } from '../resources/files.js'
import { double, intEnum, optional, string, stringEnum, text } from '../schema.js'
import { get, groupId, id } from './fields.js'

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

const rendition = {
  image_type: optional(intEnum(meaningsOf(imageType), { default: 1 })),
  w: optional(double({ description: 'width in pixels', minimum: 0 })),
  h: optional(double({ description: 'height in pixels', minimum: 0 })),
  thumbnail_strategy: optional(intEnum(meaningsOf(thumbnailStrategy), { default: 1 })),
  store_token: optional(string({ description: 'file token of the Token record' })),
  sdk_sign: optional(string({ description: 'signature under the file key of the Token record' })),
}

/** Planned. The first step of an upload (rule K8). */
export const getChatUploadTicket = operation({
  id: 'file.upload.chat',
  methods: get,
  path: '/file/upload/chat',
  tag,
  summary: 'Gets an upload ticket for a file of a chat.',
  callers: 'user',
  query: {
    file_type: intEnum(meaningsOf(fileType)),
    ...recipient,
  },
  data: UploadTicket,
  errors: ['user_not_found', 'user_deleted', 'group_not_found', 'not_group_member'],
  origin,
})

/** Planned. As {@link getChatUploadTicket}, for the avatar of the acting user (rule K8). */
export const getUserAvatarUploadTicket = operation({
  id: 'file.upload.avatar.user',
  methods: get,
  path: '/file/upload/avatar/user',
  tag,
  summary: 'Gets an upload ticket for the avatar of the user.',
  callers: 'user',
  data: UploadTicket,
  origin,
})

/**
 * Planned. Browsers ask for it without headers, so both credentials are taken from the query too
 * (rule K8).
 */
export const getGroupAvatarUploadTicket = operation({
  id: 'file.upload.avatar.group',
  methods: get,
  path: '/file/upload/avatar/group',
  tag,
  summary: 'Gets an upload ticket for the avatar of a group.',
  callers: 'member',
  credentials: 'query',
  query: { group_id: groupId },
  data: UploadTicket,
  errors: ['group_not_found', 'member_required', 'group_admin_required'],
  origin,
})

/** Planned. Nothing is copied: the address is signed anew for its new recipient (rule K8). */
export const forwardFile = operation({
  id: 'file.upload.forward',
  methods: get,
  path: '/file/upload/forward',
  tag,
  summary: 'Makes the download address of a file valid for another recipient.',
  callers: 'user',
  credentials: 'query',
  query: { ...fileSign, ...recipient },
  data: text('download URL for the new recipient'),
  errors: [
    'file_signature_invalid',
    'file_not_found',
    'user_not_found',
    'user_deleted',
    'group_not_found',
    'not_group_member',
  ],
  origin,
})

/**
 * Planned. Answers bytes, and the envelope only for a failure. Credentials may come in the query
 * (rule K8).
 */
export const downloadChatFile = operation({
  id: 'file.download.chat',
  methods: get,
  path: '/file/download/chat',
  tag,
  summary: 'Downloads a file of a chat.',
  callers: 'member',
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
  errors: ['file_signature_invalid', 'file_not_found'],
  origin,
  answersFile: true,
})

/**
 * Planned. Answers bytes, and the envelope only for a failure. Credentials may come in the query
 * (rule K8).
 */
export const downloadAvatar = operation({
  id: 'file.download.avatar',
  methods: get,
  path: '/file/download/avatar',
  tag,
  summary: 'Downloads an avatar.',
  callers: 'member',
  credentials: 'query',
  query: {
    object_name: string({ description: 'name of the stored avatar', minLength: 1 }),
    ...rendition,
  },
  data: text('the file itself'),
  errors: ['file_not_found'],
  origin,
  answersFile: true,
})
