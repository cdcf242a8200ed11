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

/** Elements of a page cannot send headers, so these paths take both from the query too. */
const queryCredentials = {
  'access-token': optional(string({ description: 'stands in for the header' })),
  app_id: optional(string({ description: 'stands in for the header', maxLength: 32 })),
}

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

export const getChatUploadTicket = operation({
  id: 'file.upload.chat',
  methods: get,
  path: '/file/upload/chat',
  tag,
  summary: 'Asks where to send a file of a chat.',
  callers: 'user',
  query: {
    file_type: intEnum(meaningsOf(fileType)),
    ...recipient,
  },
  data: UploadTicket,
  errors: ['user_not_found', 'user_deleted', 'group_not_found', 'not_group_member'],
  origin,
})

export const getUserAvatarUploadTicket = operation({
  id: 'file.upload.avatar.user',
  methods: get,
  path: '/file/upload/avatar/user',
  tag,
  summary: 'Asks where to send the avatar of the user.',
  callers: 'user',
  data: UploadTicket,
  origin,
})

export const getGroupAvatarUploadTicket = operation({
  id: 'file.upload.avatar.group',
  methods: get,
  path: '/file/upload/avatar/group',
  tag,
  summary: 'Asks where to send the avatar of a group.',
  callers: 'member',
  query: { group_id: groupId, ...queryCredentials },
  data: UploadTicket,
  errors: ['group_not_found', 'member_required', 'group_admin_required'],
  origin,
})

export const forwardFile = operation({
  id: 'file.upload.forward',
  methods: get,
  path: '/file/upload/forward',
  tag,
  summary: 'Makes the download address of a file valid for another recipient.',
  callers: 'user',
  query: { ...fileSign, ...recipient, ...queryCredentials },
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

export const downloadChatFile = operation({
  id: 'file.download.chat',
  methods: get,
  path: '/file/download/chat',
  tag,
  summary: 'Downloads a file of a chat.',
  callers: 'member',
  query: {
    ...fileSign,
    ...rendition,
    format: optional(
      stringEnum(voiceFormats, { description: 'form of a voice file, default amr' }),
    ),
    source: optional(string({ description: 'empty, or miniprogram', maxLength: 32 })),
    ...queryCredentials,
  },
  data: text('the file itself'),
  errors: ['file_signature_invalid', 'file_not_found'],
  origin,
  answersFile: true,
})

export const downloadAvatar = operation({
  id: 'file.download.avatar',
  methods: get,
  path: '/file/download/avatar',
  tag,
  summary: 'Downloads an avatar.',
  callers: 'member',
  query: {
    object_name: string({ description: 'name of the stored avatar', minLength: 1 }),
    ...rendition,
    ...queryCredentials,
  },
  data: text('the file itself'),
  errors: ['file_not_found'],
  origin,
  answersFile: true,
})
