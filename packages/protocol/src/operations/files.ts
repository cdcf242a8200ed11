import { operation } from '../operation.js'
import { FileResult, SharedFile, targetTypes, UploadTicket } from '../resources.js'
import {
  array,
  double,
  int64,
  intEnum,
  list,
  optional,
  string,
  stringEnum,
  text,
} from '../schema.js'
import { deleteOrPost, done, get, groupId, id, post, putOrPost } from './fields.js'

const tag = 'Group files'
const group = { group_id: groupId }
const memberErrors = ['group_not_found', 'member_required'] as const
const fileName = string({ description: 'file name', minLength: 1, maxLength: 256 })
/** Members open it as a link, so nothing else, such as a script, must get into one. */
const fileUrl = string({
  description:
    'where the file is, as the download_url of its ticket: http or https URL, or path from /',
  maxLength: 2048,
  pattern: '^(https?://[^\\s\\p{Cc}]+|/[^\\s\\p{Cc}]*)$',
  examples: ['https://example.org/map.png'],
})

export const getSharedFile = operation({
  id: 'group.file.get',
  methods: get,
  path: '/group/file',
  tag,
  summary: 'Reads what is known of a shared file.',
  callers: 'member',
  right: 'read',
  query: { file_id: id('file ID'), ...group },
  data: SharedFile,
  errors: [...memberErrors, 'shared_file_not_found'],
})

export const listSharedFiles = operation({
  id: 'group.file.list',
  methods: get,
  path: '/group/file/list',
  tag,
  summary: 'Lists the files shared in a group.',
  callers: 'member',
  right: 'read',
  query: group,
  data: array(SharedFile),
  errors: memberErrors,
})

export const shareFile = operation({
  id: 'group.file.upload',
  methods: post,
  path: '/group/file/upload',
  tag,
  summary: 'Shares an uploaded file in a group.',
  callers: 'groupMember',
  right: 'share',
  body: {
    ...group,
    name: fileName,
    size: int64({ description: 'size in bytes', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    type: optional(string({ description: 'file type', maxLength: 128 })),
    url: fileUrl,
  },
  data: SharedFile,
  errors: [...memberErrors, 'shared_file_limit_reached'],
})

export const renameSharedFile = operation({
  id: 'group.file.update_name',
  methods: putOrPost,
  path: '/group/file/update_name',
  tag,
  summary: 'Renames a shared file.',
  callers: 'groupMember',
  right: 'files',
  body: { file_id: id('file ID'), ...group, name: fileName },
  data: done,
  errors: [...memberErrors, 'shared_file_not_found', 'shared_file_forbidden'],
})

export const deleteSharedFiles = operation({
  id: 'group.file.delete',
  methods: deleteOrPost,
  path: '/group/file/delete',
  tag,
  summary: 'Deletes shared files.',
  callers: 'groupMember',
  right: 'files',
  body: { file_list: list(int64(), { description: 'file IDs', minItems: 1 }), ...group },
  data: array(FileResult, { description: 'one result per file' }),
  errors: memberErrors,
})

// Tickets and downloads

const files = 'Files'
const origin = 'extension'

const recipient = {
  to_id: id('receiving user or group'),
  to_type: optional(intEnum(targetTypes, { description: 'what to_id is' })),
}

const fileSign = {
  file_sign: string({
    description: 'text after sign= in a download_url',
    minLength: 1,
    maxLength: 2048,
  }),
}

const rendition = {
  image_type: optional(intEnum({ 1: 'original', 2: 'thumbnail', 3: 'cover' }, { default: 1 })),
  w: optional(double({ description: 'width in pixels', minimum: 0 })),
  h: optional(double({ description: 'height in pixels', minimum: 0 })),
  thumbnail_strategy: optional(
    intEnum({ 1: 'produced by the object store', 2: 'produced by this server' }, { default: 1 }),
  ),
  store_token: optional(string({ description: 'file token of the Token record' })),
  sdk_sign: optional(string({ description: 'signature under the file key of the Token record' })),
}

export const getChatUploadTicket = operation({
  id: 'file.upload.chat',
  methods: get,
  path: '/file/upload/chat',
  tag: files,
  summary: 'Asks where to send a file of a chat.',
  callers: 'user',
  query: {
    file_type: intEnum({
      100: 'plain chat file',
      101: 'voice (amr)',
      102: 'picture',
      103: 'video',
      104: 'voice (mp3)',
      200: 'shared plain file',
      201: 'shared voice',
      202: 'shared picture',
      203: 'shared video',
    }),
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
  tag: files,
  summary: 'Asks where to send the avatar of the user.',
  callers: 'user',
  data: UploadTicket,
  origin,
})

export const getGroupAvatarUploadTicket = operation({
  id: 'file.upload.avatar.group',
  methods: get,
  path: '/file/upload/avatar/group',
  tag: files,
  summary: 'Asks where to send the avatar of a group.',
  callers: 'member',
  credentials: 'query',
  query: group,
  data: UploadTicket,
  errors: [...memberErrors, 'group_admin_required'],
  origin,
})

export const forwardFile = operation({
  id: 'file.upload.forward',
  methods: get,
  path: '/file/upload/forward',
  tag: files,
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

export const downloadChatFile = operation({
  id: 'file.download.chat',
  methods: get,
  path: '/file/download/chat',
  tag: files,
  summary: 'Downloads a file of a chat.',
  callers: 'member',
  credentials: 'query',
  query: {
    ...fileSign,
    ...rendition,
    format: optional(
      stringEnum(['amr', 'mp3'], { description: 'form of a voice file, default amr' }),
    ),
    source: optional(string({ description: 'empty, or miniprogram', maxLength: 32 })),
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
  tag: files,
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
