import { location } from '../../location.js'
import { operation } from '../../operation.js'
import { Announcement, FileResult, SharedFile } from '../../resources/groups.js'
import { Nothing } from '../../resources/results.js'
import { array, int64, list, optional, string } from '../../schema.js'
import { deleteOrPost, done, get, id, post, putOrPost } from '../fields.js'
import { adminErrors, group, memberErrors } from './fields.js'

const announcements = 'Group announcements'
const sharedFiles = 'Group files'

const announcementId = { announcement_id: id('announcement ID') }

/** A deleted old announcement answers 20020. */
export const getAnnouncement = operation({
  id: 'group.announcement.get',
  methods: get,
  path: '/group/announcement',
  tag: announcements,
  summary: 'Reads an announcement.',
  callers: 'member',
  scopes: ['groups'],
  right: 'read',
  query: { ...announcementId, ...group },
  data: Announcement,
  errors: [...memberErrors, 'announcement_not_found'],
})

/** 20020 when the group has none. */
export const getLastAnnouncement = operation({
  id: 'group.announcement.last',
  methods: get,
  path: '/group/announcement/last',
  tag: announcements,
  summary: 'Reads the latest announcement.',
  callers: 'member',
  scopes: ['groups'],
  right: 'read',
  query: group,
  data: Announcement,
  errors: [...memberErrors, 'announcement_not_found'],
})

/** Always the whole list: at most 500. Clients reverse it to show the newest first (rule K10). */
export const listAnnouncements = operation({
  id: 'group.announcement.list',
  methods: get,
  path: '/group/announcement/list',
  tag: announcements,
  summary: 'Lists the announcements of a group, oldest first.',
  description: 'Oldest first, always the whole list: the latest 500.',
  callers: 'member',
  scopes: ['groups'],
  right: 'read',
  query: group,
  data: array(Announcement),
  errors: memberErrors,
})

/**
 * Never changes an earlier announcement, although its path says edit (rule F4a). Deletes the oldest
 * beyond 500. The group is notified.
 */
export const publishAnnouncement = operation({
  id: 'group.announcement.edit',
  methods: post,
  path: '/group/announcement/edit',
  tag: announcements,
  summary: 'Publishes a new announcement.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'announce',
  body: {
    content: string({ description: 'text', maxLength: 8192 }),
    ...group,
    title: string({ description: 'title', maxLength: 256 }),
  },
  data: Announcement,
  errors: adminErrors,
})

/** The group is notified. A second call answers 20020. The answer is an empty object (rule F7). */
export const deleteAnnouncement = operation({
  id: 'group.announcement.delete',
  methods: deleteOrPost,
  path: '/group/announcement/delete',
  tag: announcements,
  summary: 'Deletes an announcement.',
  callers: 'member',
  scopes: ['groups'],
  right: 'announce',
  query: { ...announcementId, ...group },
  data: Nothing,
  errors: [...adminErrors, 'announcement_not_found'],
})

const fileName = string({ description: 'file name', minLength: 1, maxLength: 256 })

const fileUrl = location('where the file is, as the download_url of its ticket', { minLength: 1 })

/** Metadata of the file; `url` is its address. */
export const getSharedFile = operation({
  id: 'group.file.get',
  methods: get,
  path: '/group/file',
  tag: sharedFiles,
  summary: 'Reads the record of a shared file.',
  callers: 'member',
  scopes: ['groups'],
  right: 'read',
  query: { file_id: id('file ID'), ...group },
  data: SharedFile,
  errors: [...memberErrors, 'shared_file_not_found'],
})

/** Oldest first, always the whole list: at most 1,000. */
export const listSharedFiles = operation({
  id: 'group.file.list',
  methods: get,
  path: '/group/file/list',
  tag: sharedFiles,
  summary: 'Lists the files shared in a group.',
  description: 'Oldest first, always the whole list: at most 1,000.',
  callers: 'member',
  scopes: ['groups'],
  right: 'read',
  query: group,
  data: array(SharedFile),
  errors: memberErrors,
})

/**
 * The file itself is not checked. The same file may be shared more than once. The group is
 * notified. Rule F8b.
 */
export const shareFile = operation({
  id: 'group.file.upload',
  methods: post,
  path: '/group/file/upload',
  tag: sharedFiles,
  summary: 'Shares an uploaded file in a group.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'share',
  body: {
    ...group,
    name: fileName,
    size: int64({ description: 'size in bytes', minimum: 0 }),
    type: optional(string({ description: 'file type', maxLength: 128 })),
    url: fileUrl,
  },
  data: SharedFile,
  errors: [...memberErrors, 'shared_file_limit_reached'],
})

/** Allowed to the user who shared it, admins and the owner. The group is notified. */
export const renameSharedFile = operation({
  id: 'group.file.update_name',
  methods: putOrPost,
  path: '/group/file/update_name',
  tag: sharedFiles,
  summary: 'Renames a shared file.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'files',
  body: { file_id: id('file ID'), ...group, name: fileName },
  data: done,
  errors: [...memberErrors, 'shared_file_not_found', 'shared_file_forbidden'],
})

/**
 * One commit; each file is decided separately, results in the order of file_list, duplicates once.
 * The file behind `url` stays. The group is notified.
 */
export const deleteSharedFiles = operation({
  id: 'group.file.delete',
  methods: deleteOrPost,
  path: '/group/file/delete',
  tag: sharedFiles,
  summary: 'Deletes shared files.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'files',
  body: { file_list: list(int64(), { description: 'file IDs', minItems: 1 }), ...group },
  data: array(FileResult, { description: 'one result per file' }),
  errors: memberErrors,
})
